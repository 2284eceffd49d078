"""What scrapyd-deploy packs: the spiders and the bundled site."""

from setuptools import find_packages, setup

setup(
    name="newsroom",
    version="1.0",
    packages=find_packages(),
    package_data={"newsroom.site": ["*.json*", "stories/*.txt", "templates/*.html"]},
    entry_points={"scrapy": ["settings = newsroom.settings"]},
)
