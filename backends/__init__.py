"""Engines that run parts of a program: what one has to provide, how it is found, those that come with xrelay."""
