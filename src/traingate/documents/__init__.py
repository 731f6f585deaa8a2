"""Text in, typed and located objects out. Nothing past this package sees a raw mapping."""
