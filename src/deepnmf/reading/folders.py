"""Which kind of files a folder holds."""

from deepnmf.reading import images, sounds, texts
from deepnmf.reading.dataset import Dataset, Request, counted
from deepnmf.reading.errors import ReadingError
from deepnmf.reading.files import Files


def read_folder(request: Request) -> Dataset:
    """Images or sounds, else texts: a note beside images is no text to read."""
    pictures = Files.below(request.path, images.SUFFIXES)
    recordings = Files.below(request.path, sounds.SUFFIXES)
    if pictures.paths and recordings.paths:
        raise ReadingError(
            f"{request.path} holds {counted(len(pictures.paths), 'image')} and "
            f"{counted(len(recordings.paths), 'sound')}: expected one kind."
        )
    if request.size is not None and not pictures.paths:
        raise ReadingError(f"{request.path} holds no images: leave out --size.")
    if pictures.paths:
        return images.read_images(pictures, request)
    if recordings.paths:
        return sounds.read_sounds(recordings, request)
    documents = Files.below(request.path, texts.SUFFIXES)
    if documents.paths:
        return texts.read_texts(documents, request)
    expected = ", ".join((*images.SUFFIXES, *sounds.SUFFIXES, *texts.SUFFIXES))
    raise ReadingError(f"{request.path} holds nothing that can be read: expected files ending in {expected}.")
