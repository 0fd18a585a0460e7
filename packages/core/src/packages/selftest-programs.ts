/** Short programs that use packages with compiled code; each raises an exception if a result is wrong. By package name. */
export const SELFTEST_PROGRAMS: Readonly<Record<string, string>> = {
  numpy: `
import numpy as np
a = np.arange(12, dtype=np.float64).reshape(3, 4)
assert a.sum() == 66 and (a @ a.T).shape == (3, 3)
assert np.allclose(np.linalg.inv(np.diag([1.0, 2.0, 4.0])), np.diag([1.0, 0.5, 0.25]))
assert np.allclose(np.fft.ifft(np.fft.fft(np.arange(8))).real, np.arange(8))
assert np.array_equal(np.sort(np.random.default_rng(7).permutation(100)), np.arange(100))
`,
  pandas: `
import io
import pandas as pd
frame = pd.read_csv(io.StringIO('k,v\\na,1\\nb,2\\na,3\\n'))
assert frame.groupby('k')['v'].sum().to_dict() == {'a': 4, 'b': 2}
assert frame.merge(frame, on='k').shape == (5, 3)
days = pd.Series(1.0, index=pd.date_range('2026-01-01', periods=60, freq='D'))
assert days.resample('MS').sum().tolist() == [31.0, 28.0, 1.0]
`,
  scipy: `
import numpy as np
from scipy import integrate, linalg, optimize, stats
assert np.allclose(linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 8.0]), [1.0, 2.0])
assert abs(integrate.quad(lambda x: x * x, 0, 3)[0] - 9) < 1e-9
assert abs(optimize.brentq(lambda x: x * x - 2, 0, 2) - 2 ** 0.5) < 1e-9
assert abs(stats.norm.cdf(0) - 0.5) < 1e-12
`,
  matplotlib: `
import io
import matplotlib
matplotlib.use('Agg')
import matplotlib.pyplot as plt
figure, axes = plt.subplots()
axes.plot([1, 2, 3], [1, 4, 9], label='squares')
axes.legend()
target = io.BytesIO()
figure.savefig(target, format='png')
assert target.getvalue().startswith(b'\\x89PNG') and target.tell() > 5000
`,
  pillow: `
import io
from PIL import Image
image = Image.new('RGB', (40, 30), (200, 10, 10)).resize((20, 15)).convert('L')
for format in ('PNG', 'JPEG'):
    target = io.BytesIO()
    image.save(target, format)
    assert Image.open(io.BytesIO(target.getvalue())).size == (20, 15)
`,
  'scikit-learn': `
import numpy as np
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression
x = np.arange(20.0).reshape(-1, 1)
assert np.allclose(LinearRegression().fit(x, 3 * x[:, 0] + 1).coef_, [3.0])
assert len(set(KMeans(2, n_init=1, random_state=0).fit_predict(x))) == 2
`,
};
