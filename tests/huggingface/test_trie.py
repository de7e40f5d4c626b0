import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polbayes.huggingface.trie import ancestors, build, visible

SEQUENCES = st.lists(st.lists(st.integers(0, 2), max_size=6).map(tuple), max_size=12)


@given(SEQUENCES)
def test_every_beginning_stands_once(sequences):
    trie = build(sequences)
    beginnings = {s[:n] for s in sequences for n in range(1, len(s) + 1)}
    assert len(trie.tokens) == len(beginnings)
    spelt = []
    for node in range(len(trie.tokens)):
        path = [*ancestors(trie, node), node]
        assert trie.depths[node] == len(path) - 1
        spelt.append(tuple(trie.tokens[path].tolist()))
    assert spelt == sorted(beginnings)
    for sequence, path in zip(sequences, trie.paths, strict=True):
        assert tuple(trie.tokens[path].tolist()) == sequence


@given(SEQUENCES, st.integers(1, 7))
def test_a_node_sees_itself_and_its_ancestors_in_every_stretch(sequences, size):
    trie = build(sequences)
    for start in range(0, len(trie.tokens), size):
        nodes = np.arange(start, min(start + size, len(trie.tokens)))
        columns = np.concatenate([ancestors(trie, start), nodes])
        seen = visible(trie, columns, nodes)
        for row, node in enumerate(nodes):
            # What a node needs is always among the columns: nothing is left out.
            assert columns[seen[row]].tolist() == [*ancestors(trie, node), node]


def test_equal_sequences_share_everything():
    trie = build([(1, 2), (1, 2), (), (1,)])
    assert trie.tokens.tolist() == [1, 2]
    assert [path.tolist() for path in trie.paths] == [[0, 1], [0, 1], [], [0]]
