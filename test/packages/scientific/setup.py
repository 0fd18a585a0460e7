"""Names that the expressions in numpy.txt and others.txt use, and their evaluation."""
import copy, io, pickle, sqlite3
import numpy as np, pandas as pd
from PIL import Image, ImageDraw, ImageFilter, ImageOps

df = pd.DataFrame({'k': list('xyxy'), 'v': [1.0, 2.0, 3.0, 4.0], 't': pd.date_range('2024-01-01', periods=4)})


def encoded(image, format):
    image.save(buffer := io.BytesIO(), format)
    return buffer


def png(image):
    return encoded(image, 'PNG')


def jpeg(image):
    return encoded(image, 'JPEG')


def drawn():
    ImageDraw.Draw(image := Image.new('RGB', (5, 5))).line((0, 0, 4, 4), fill='blue')
    return image


def evaluate(expressions):
    def value(expression):
        try:
            return repr(eval(expression, globals()))
        except Exception as error:
            return f'{type(error).__name__}: {error}'

    return [value(one) for one in expressions]
