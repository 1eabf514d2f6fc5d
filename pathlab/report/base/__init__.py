"""What every chapter is made of: blocks, tables, points, names and phrases."""
