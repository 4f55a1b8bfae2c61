"""The mathematics: readers, gates, objectives and the recipes made of them. Knows no files and no text."""
