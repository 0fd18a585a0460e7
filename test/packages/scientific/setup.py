"""Names that the expressions in the text files use, and their evaluation."""
import copy, io, pickle, sqlite3
import numpy as np, pandas as pd
import matplotlib, matplotlib.pyplot as plt
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


def described(draw):
    """The chart of a figure in which `draw` has drawn; the figure is closed."""
    figure, axes = plt.subplots(figsize=(1, 1))
    draw(axes)
    bundle = chart_of(figure)
    plt.close('all')
    return bundle


def chart_of(figure):
    from _sandbox_figure_chart import describe_figure

    return describe_figure(figure)


def pixel(draw, x, y):
    """The color at a share of the width and height of a figure in which `draw` has drawn."""
    figure = plt.figure(figsize=(0.4, 0.2))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.axis('off')
    axes.set(xlim=(0, 1), ylim=(0, 1))
    draw(axes)
    figure.canvas.draw()
    rows = np.asarray(figure.canvas.buffer_rgba())
    plt.close('all')
    return tuple(int(value) for value in rows[int(y * len(rows)), int(x * rows.shape[1]), :3])


def evaluate(expressions):
    def value(expression):
        try:
            return repr(eval(expression, globals()))
        except Exception as error:
            return f'{type(error).__name__}: {error}'

    return [value(one) for one in expressions]
