"""Operations: health, metrics and the description of the API."""
