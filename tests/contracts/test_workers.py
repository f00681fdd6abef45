"""Work divided among threads has the results of one thread, in order."""

import threading

import pytest

from deepnmf.engines import Workers


@pytest.fixture(params=[1, 2, 3, 5])
def workers(request):
    with Workers() as workers:
        workers.width = request.param
        yield workers


@pytest.mark.parametrize("count", [0, 1, 2, 7, 200])
@pytest.mark.parametrize("kind", [list, iter])
def test_results_are_in_the_order_of_the_items(workers, count, kind):
    assert list(workers.map(lambda item: item**2, kind(range(count)))) == [item**2 for item in range(count)]


@pytest.mark.parametrize("bad", [0, 3, 7])
@pytest.mark.parametrize("kind", [list, iter])
def test_an_error_of_any_item_reaches_the_caller(workers, bad, kind):
    with pytest.raises(ZeroDivisionError):
        list(workers.map(lambda item: 1 / (item - bad), kind(range(8))))


def test_each_thread_gets_the_same_items_every_time():
    with Workers() as workers:
        workers.width = 2
        threads = [list(workers.map(lambda _: threading.get_ident(), list(range(4)))) for _ in range(5)]
    assert all(own == threads[0] for own in threads)
    own, helper = threads[0][0], threads[0][-1]
    assert threads[0] == [own, own, helper, helper]
    assert own == threading.get_ident() != helper
