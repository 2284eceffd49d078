"""The page people look at: one self-contained HTML file made of feeds, which asks no network for anything."""
