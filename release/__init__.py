"""The files of a release, made from the newest commit: ``make release``. One module for each kind of file."""
