"""Solution to week0/offsets_by_hand."""

answers = {  # coordinate: offset, of the layout (3,(2,4)):(2,(1,6))
    # [fill]
    #| (1, 0): None,
    #| (1, (0, 2)): None,
    #| (2, 3): None,
    #| (0, 6): None,
    #| 7: None,
    (1, 0): 2,
    (1, (0, 2)): 14,
    (2, 3): 11,
    (0, 6): 18,
    7: 8,
    # [/fill]
}
