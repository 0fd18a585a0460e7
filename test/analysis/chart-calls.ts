/** Programs that draw with plotting packages, and the calls of `chart` that guidance derives from them. */
export const CHART_CALLS: readonly (readonly [source: string, ...calls: string[]])[] = [
  ['plt.plot(x, y)', 'display(chart.line(x, y))'],
  ["plt.plot(x, [v ** 2 for v in x], 'r--', label='a, b')", 'display(chart.line(x, [v ** 2 for v in x]))'],
  ["plt.plot(y)\nplt.title('Growth')", "display(chart.line(y, title='Growth'))"],
  ["plt.bar(names, values, color='red')", 'display(chart.bar(names, values))'],
  ['plt.scatter(x, y, s=10)', 'display(chart.scatter(x, y))'],
  ['plt.hist(values, bins=30)', 'display(chart.histogram(values, bins=30))'],
  ["plt.pie(values, labels=names, autopct='%1.1f%%')", 'display(chart.pie(names, values))'],
  ["plt.imshow(matrix, cmap='hot')", 'display(chart.heatmap(matrix))'],
  [
    'fig, axs = plt.subplots(2)\naxs[0].plot(x, y)\naxs[1].barh(names, values)',
    'display(chart.line(x, y))',
    'display(chart.bar(names, values))',
  ],
  ["self.ax.plot(x, y)\nself.ax.set_title('T')", "display(chart.line(x, y, title='T'))"],
  [
    "sns.barplot(data=rows, x='name', y='value', hue='name', ax=ax)",
    "display(chart.bar(rows, x='name', y='value', color='name'))",
  ],
  ['sns.lineplot(x=x, y=y)', 'display(chart.line(x=x, y=y))'],
  ['sns.heatmap(matrix, annot=True)', 'display(chart.heatmap(matrix))'],
  [
    "fig = px.scatter(rows, x='name', y='value', color='name', title='P')",
    "display(chart.scatter(rows, x='name', y='value', color='name', title='P'))",
  ],
  ["px.pie(rows, names='name', values='value')", "display(chart.pie(rows, x='name', y='value'))"],
  ["px.histogram(rows, x='value', nbins=5)", "display(chart.histogram(rows, x='value', bins=5))"],
  ["rows.plot(kind='bar', x='name', y='value')", "display(chart.bar(rows, x='name', y='value'))"],
  ["rows.plot.scatter(x='name', y='value')", "display(chart.scatter(rows, x='name', y='value'))"],
  ['plt.figure()\nplt.show()\nplt.plot()\nplt.subplots(2)'],
  ['plt.plot(x,\n  y)'],
  ['model.fit(x, y)'],
];
