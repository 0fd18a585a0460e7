"""The modules from which programs import the entry point of pip."""

from pip import main as main
