# Programs that use the native part of each wheel. A section starts with a line "#: package | packages that it needs | what it does".
# A package without a program is refused when it is added, with the text that follows "refused:".

#: aiohttp | | websocket masking, without the rest of the package, which needs multidict
import importlib.util, pathlib
path = next(pathlib.Path('/data/packages/aiohttp/_websocket').glob('mask.*.so'))
spec = importlib.util.spec_from_file_location('aiohttp._websocket.mask', path)
mask = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mask)
data = bytearray(b'websocket data')
mask._websocket_mask_cython(b'\x01\x02\x03\x04', data)
assert data[:4] == b'vgaw'
mask._websocket_mask_cython(b'\x01\x02\x03\x04', data)
assert data == b'websocket data'

#: argon2_cffi_bindings | cffi | Argon2id hash
from _argon2_cffi_bindings import ffi, lib
encoded = ffi.new('char[]', 200)
password = ffi.new('uint8_t[]', b'password')
salt = ffi.new('uint8_t[]', b'somesalt')
status = lib.argon2_hash(2, 1024, 1, password, 8, salt, 8, ffi.NULL, 32, encoded, 200, lib.Argon2_id, lib.ARGON2_VERSION_NUMBER)
assert status == lib.ARGON2_OK
assert ffi.string(encoded).startswith(b'$argon2id$v=19$m=1024,t=2,p=1$c29tZXNhbHQ$')
assert lib.argon2_verify(encoded, password, 8, lib.Argon2_id) == lib.ARGON2_OK
assert lib.argon2_verify(encoded, password, 7, lib.Argon2_id) != lib.ARGON2_OK

#: bottleneck | numpy | moving averages, median and ranks with missing values
import bottleneck as bn, numpy as np
values = np.array([1, 2, np.nan, 4, 5])
assert bn.nansum(values) == 12 and bn.nanmedian(values) == 3
assert bn.move_mean(values, 2, 1).tolist() == [1, 1.5, 2, 4, 4.5]
assert bn.rankdata([30, 10, 20]).tolist() == [3, 1, 2]

#: cartopy | numpy shapely pyproj matplotlib contourpy kiwisolver fonttools pillow pyshp certifi | projection of a line across the date line
import cartopy.crs as ccrs, shapely
line = ccrs.PlateCarree().project_geometry(shapely.LineString([(170, 0), (190, 10)]), ccrs.PlateCarree())
assert [part.bounds[1] for part in line.geoms] == [0, line.geoms[1].bounds[1]] and round(line.geoms[1].bounds[1], 3) == 5
circle = ccrs.Robinson().project_geometry(shapely.Point(0, 80).buffer(5), ccrs.PlateCarree())
assert circle.is_valid and circle.area > 0, circle.area

#: cf_units | numpy cftime | unit conversion and calendars
import cf_units
assert cf_units.Unit('km').convert(1.5, 'm') == 1500
assert round(cf_units.Unit('degC').convert(100, 'degF'), 6) == 212
assert str(cf_units.Unit('days since 2026-01-01', calendar='standard').num2date(31)) == '2026-02-01 00:00:00'

#: cffi | pycparser | declarations, structures and arrays
from cffi import FFI
ffi = FFI()
ffi.cdef('struct point { int x; double y; }; enum colour { RED, GREEN = 7 };')
point = ffi.new('struct point *', {'x': 3, 'y': 0.5})
assert (point.x, point.y, ffi.sizeof('struct point')) == (3, 0.5, 16)
assert bytes(ffi.buffer(ffi.new('int[2]', [1, 2]))) == b'\1\0\0\0\2\0\0\0'

#: cftime | numpy | calendars without leap years
import cftime
date = cftime.num2date(59, 'days since 2024-01-01', calendar='noleap')
assert (date.month, date.day) == (3, 1)
assert cftime.date2num(cftime.DatetimeNoLeap(2025, 1, 1), 'days since 2024-01-01', calendar='noleap') == 365

#: contourpy | numpy | contour lines and filled contours
import contourpy, numpy as np
x, y = np.meshgrid(np.linspace(-1, 1, 41), np.linspace(-1, 1, 41))
for name in ('serial', 'threaded', 'mpl2014'):
    generator = contourpy.contour_generator(x, y, x ** 2 + y ** 2, name=name)
    (line,) = generator.lines(0.25) if name != 'mpl2014' else generator.lines(0.25)[0]
    assert np.allclose(np.hypot(*line.T), 0.5, atol=0.01)
assert len(contourpy.contour_generator(x, y, x * y).filled(0, 2)[0]) == 2

#: crc32c | | checksum
import crc32c
assert crc32c.crc32c(b'123456789') == 0xE3069283

#: cryptography | cffi | AES-GCM, ChaCha20, Ed25519, RSA key generation and signature, Fernet, X.509, scrypt
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, padding, rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
import datetime
from cryptography import x509
for cipher in (AESGCM(AESGCM.generate_key(256)), ChaCha20Poly1305(ChaCha20Poly1305.generate_key())):
    sealed = cipher.encrypt(bytes(12), b'text', b'header')
    assert cipher.decrypt(bytes(12), sealed, b'header') == b'text'
    try:
        cipher.decrypt(bytes(12), sealed, b'other')
        raise AssertionError('a wrong header was accepted')
    except InvalidTag:
        pass
key = ed25519.Ed25519PrivateKey.generate()
key.public_key().verify(key.sign(b'message'), b'message')
assert ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32)).sign(b'').hex()[:16] == '8f895b3cafe2c950'
rsa_key = rsa.generate_private_key(65537, 1024)
signature = rsa_key.sign(b'message', padding.PKCS1v15(), hashes.SHA256())
rsa_key.public_key().verify(signature, b'message', padding.PKCS1v15(), hashes.SHA256())
try:
    rsa_key.public_key().verify(signature, b'other', padding.PKCS1v15(), hashes.SHA256())
    raise AssertionError('a wrong signature was accepted')
except InvalidSignature:
    pass
token = Fernet(Fernet.generate_key())
assert token.decrypt(token.encrypt(b'secret')) == b'secret'
name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, 'test')])
start = datetime.datetime(2026, 1, 1)
certificate = x509.CertificateBuilder(name, name, key.public_key(), 1, start, start + datetime.timedelta(1)).sign(key, None)
assert x509.load_pem_x509_certificate(certificate.public_bytes(serialization.Encoding.PEM)).subject == name
assert Scrypt(salt=b'NaCl', length=8, n=16, r=1, p=1).derive(b'password').hex() == Scrypt(salt=b'NaCl', length=8, n=16, r=1, p=1).derive(b'password').hex()

#: cykhash | | hash sets and maps of numbers
import cykhash
found = cykhash.Int64Set_from([1, 2, 3])
assert 2 in found and 4 not in found and len(found) == 3
assert cykhash.Float64toInt64Map([(0.5, 1), (1.5, 2)])[1.5] == 2

#: frozenlist | | a list that can be frozen
from frozenlist import FrozenList
items = FrozenList([1, 2])
items.append(3)
items.freeze()
try:
    items.append(4)
    raise AssertionError('the list is not frozen')
except RuntimeError:
    assert FrozenList.__module__ == 'frozenlist._frozenlist' and list(items) == [1, 2, 3]

#: google_crc32c | | checksum by a shared library
import google_crc32c
assert google_crc32c.implementation == 'c' and google_crc32c.value(b'123456789') == 0xE3069283

#: fonttools | | transformation of points and a Bézier curve
from fontTools.misc.bezierTools import calcCubicBounds
from fontTools.misc.transform import Scale
assert Scale(2).transformPoint((1, 2)) == (2, 4)
assert calcCubicBounds((0, 0), (25, 100), (75, 100), (100, 0)) == (0, 0, 100, 75.0)

#: h5py | numpy | HDF5 round trip with compression, attributes, strings and references
import h5py, numpy as np
with h5py.File('data.h5', 'w') as file:
    group = file.create_group('run')
    group.create_dataset('grid', data=np.arange(12.0).reshape(3, 4), chunks=(1, 4), compression='gzip', shuffle=True)
    group['names'] = ['ä', 'b']
    group.attrs['unit'] = 'm'
    file['link'] = h5py.SoftLink('/run/grid')
    file['reference'] = group['grid'].ref
with h5py.File('data.h5') as file:
    assert file['link'][1:, ::2].tolist() == [[4, 6], [8, 10]]
    assert file['run/names'].asstr()[:].tolist() == ['ä', 'b'] and file['run'].attrs['unit'] == 'm'
    assert file[file['reference'][()]].compression == 'gzip'
try:
    h5py.File('missing.h5')
    raise AssertionError('a missing file was opened')
except FileNotFoundError:
    pass

#: hdf5plugin | numpy h5py | Zstandard, Blosc and LZ4 filters, loaded by HDF5 itself
import h5py, numpy as np
h5py.h5pl.prepend(b'/data/packages/hdf5plugin/plugins')
data = np.tile(np.arange(100), 20)
with h5py.File('filters.h5', 'w') as file:
    for number in (32015, 32001, 32004):
        file.create_dataset(str(number), data=data, chunks=(500,), compression=number)
with h5py.File('filters.h5') as file:
    for dataset in file.values():
        assert (dataset[:] == data).all() and dataset.id.get_storage_size() < data.nbytes / 2

#: healpy | numpy | pixels of a sphere and spherical harmonics, without the part that needs astropy
import sys, types, numpy as np
healpy = types.ModuleType('healpy')
healpy.__path__ = ['/data/packages/healpy']
astropy = types.ModuleType('astropy.utils')
astropy.deprecated_renamed_argument = lambda *_, **__: lambda function: function
sys.modules.update({'healpy': healpy, 'astropy': types.ModuleType('astropy'), 'astropy.utils': astropy})
from healpy import pixelfunc
vars(healpy).update({name: value for name, value in vars(pixelfunc).items() if name[0] != '_'})
from healpy import _healpy_pixel_lib as pixels, _query_disc, _sphtools
assert int(pixels._ang2pix_ring(16, np.pi / 2, 0.0)) == 1440
assert pixels._pix2ang_ring(16, 1440)[1] == 0
disc = _query_disc.query_disc(16, np.array([1.0, 0, 0]), 0.1)
assert 1440 in disc
alm = _sphtools.map2alm(np.ones(12 * 16 ** 2), lmax=4)
assert np.isclose(alm[0].real, np.sqrt(4 * np.pi)) and np.abs(alm[1:]).max() < 1e-3

#: kiwisolver | | linear constraints
from kiwisolver import Solver, UnsatisfiableConstraint, Variable
left, width, right = (Variable(name) for name in ('left', 'width', 'right'))
solver = Solver()
for constraint in (left + width == right, (width >= 10) | 'strong', left == 5, (right <= 100) | 'weak'):
    solver.addConstraint(constraint)
solver.addEditVariable(right, 'medium')
solver.suggestValue(right, 40)
solver.updateVariables()
assert (left.value(), width.value(), right.value()) == (5, 35, 40)
try:
    solver.addConstraint((left == 6) | 'required')
    raise AssertionError('a contradiction was accepted')
except UnsatisfiableConstraint:
    pass

#: lru_dict | | cache of limited size
from lru import LRU
cache = LRU(2)
cache['a'], cache['b'] = 1, 2
cache['a']
cache['c'] = 3
assert cache.keys() == ['c', 'a'] and cache.get_stats() == (1, 0)

#: lxml | | XPath, XSLT, schema validation, HTML and serialisation
from lxml import etree, html
tree = etree.fromstring('<r xmlns:n="urn:n"><a k="1">x</a><n:a k="2">y</n:a></r>')
assert tree.xpath('//n:a/@k', namespaces={'n': 'urn:n'}) == ['2']
assert tree.xpath('sum(//@k)') == 3
transform = etree.XSLT(etree.fromstring('<x:stylesheet version="1.0" xmlns:x="http://www.w3.org/1999/XSL/Transform"><x:template match="/"><o><x:value-of select="count(//*)"/></o></x:template></x:stylesheet>'))
assert str(transform(tree)).endswith('<o>3</o>\n')
schema = etree.XMLSchema(etree.fromstring('<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema"><s:element name="n" type="s:int"/></s:schema>'))
assert schema.validate(etree.fromstring('<n>7</n>')) and not schema.validate(etree.fromstring('<n>x</n>'))
assert html.fromstring('<p>a<b>c').cssselect if False else html.fromstring('<p>a<b>c').text_content() == 'ac'
try:
    etree.fromstring('<a><b></a>')
    raise AssertionError('a broken document was accepted')
except etree.XMLSyntaxError as error:
    assert 'mismatch' in str(error)

#: lz4 | | frames and blocks
import lz4.block, lz4.frame
data = b'sandbox ' * 1000
assert lz4.frame.decompress(lz4.frame.compress(data)) == data
assert len(lz4.block.compress(data)) < 100 and lz4.block.decompress(lz4.block.compress(data)) == data

#: markupsafe | | escaping
from markupsafe import _speedups, escape
assert escape('<a href="x">') == '&lt;a href=&#34;x&#34;&gt;' and _speedups._escape_inner('&') == '&amp;'

#: matplotlib | numpy contourpy kiwisolver fonttools pillow | a plot with text and contours as PNG
import io, matplotlib, numpy as np
matplotlib.use('Agg')
import matplotlib.pyplot as plt
figure, axes = plt.subplots(figsize=(2, 1.5))
x = np.linspace(-1, 1, 20)
axes.contourf(x, x, np.outer(x, x))
axes.set_title('$x y$')
out = io.BytesIO()
figure.savefig(out, dpi=50)
assert out.getvalue()[:4] == b'\x89PNG' and (plt.imread(io.BytesIO(out.getvalue()))[..., :3] < 0.5).any()

#: msgpack | | packing and unpacking
import msgpack
assert msgpack.Packer.__module__ == 'msgpack._cmsgpack'
value = {'a': [1, -2.5, None, b'x', 'ä'], 'b': {'c': 2 ** 63}}
assert msgpack.unpackb(msgpack.packb(value)) == value

#: ndindex | | canonical indices
from ndindex import ndindex
assert ndindex(slice(-3, None)).reduce(10) == ndindex(slice(7, 10, 1)) and len(ndindex(slice(0, 10, 3))) == 4

#: netcdf4 | numpy cftime certifi | netCDF round trip with dimensions, compression and time
import netCDF4, numpy as np
with netCDF4.Dataset('data.nc', 'w') as data:
    data.createDimension('x', None)
    data.createVariable('v', 'f4', ('x',), zlib=True)[:] = np.arange(5)
    data['v'].units = 'K'
with netCDF4.Dataset('data.nc') as data:
    assert data['v'][:].tolist() == [0, 1, 2, 3, 4] and data['v'].units == 'K' and data.data_model == 'NETCDF4'

#: numcodecs | numpy wrapt deprecated | Blosc, Zstandard, LZ4 and checksums
import numcodecs, numpy as np
data = np.arange(1000)
for codec in (numcodecs.Blosc('zstd'), numcodecs.Zstd(), numcodecs.LZ4(), numcodecs.CRC32(), numcodecs.Delta('i8')):
    assert (np.frombuffer(codec.decode(codec.encode(data)), data.dtype) == data).all()
assert len(numcodecs.Blosc('lz4').encode(data)) < data.nbytes / 4

#: numpy | | SVD, FFT, sort, linear algebra, random numbers, text and dates
import numpy as np
random = np.random.default_rng(7)
matrix = random.random((6, 4))
u, s, v = np.linalg.svd(matrix, full_matrices=False)
assert np.allclose(u * s @ v, matrix)
assert np.allclose(np.linalg.solve(matrix[:4], matrix[:4] @ [1, 2, 3, 4]), [1, 2, 3, 4])
assert np.allclose(np.linalg.eigvalsh([[2, 1], [1, 2]]), [1, 3])
signal = np.cos(2 * np.pi * 3 * np.arange(64) / 64)
assert np.abs(np.fft.rfft(signal)).argmax() == 3 and np.allclose(np.fft.ifft(np.fft.fft(signal)).real, signal)
numbers = random.permutation(10_000)
for kind in ('quicksort', 'stable', 'heapsort'):
    assert (np.sort(numbers, kind=kind) == np.arange(10_000)).all()
assert (np.argsort(numbers.astype('f4'))[numbers] == np.argsort(numbers)[numbers]).all()
assert sorted(np.unique(['b', 'a', 'b']).tolist()) == ['a', 'b'] and np.char.upper(np.array(['ab']))[0] == 'AB'
assert np.strings.find(np.array(['hello'], dtype=np.dtypes.StringDType()), 'l')[0] == 2
assert (np.datetime64('2026-03-01') - np.datetime64('2026-02-01')).astype(int) == 28
assert np.einsum('ij,jk->ik', np.eye(2), [[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
assert np.random.default_rng(7).random() == 0.625095466604667

#: numpy_quaddtype | numpy | numbers with 113 bits
import numpy as np
from numpy_quaddtype import QuadPrecDType, QuadPrecision
third = QuadPrecision('1') / QuadPrecision('3')
assert str(third).startswith('0.333333333333333333333333333333')
assert float(np.array(['1', '2'], dtype=QuadPrecDType()).sum()) == 3

#: orjson | | JSON with dates
import datetime, orjson
assert orjson.dumps({'a': [1, 2.5, None], 'd': datetime.date(2026, 1, 2)}) == b'{"a":[1,2.5,null],"d":"2026-01-02"}'
try:
    orjson.loads('{"a":')
    raise AssertionError('broken JSON was accepted')
except orjson.JSONDecodeError:
    assert orjson.loads('[1e3, "\\u00e4"]') == [1000.0, 'ä']

#: pandas | numpy python_dateutil | groups, CSV, joins, resampling and time zones
import io, pandas as pd
frame = pd.read_csv(io.StringIO('k,v,t\na,1,2026-01-01\nb,2,2026-01-02\na,3,2026-02-01'), parse_dates=['t'])
assert frame.groupby('k').v.sum().to_dict() == {'a': 4, 'b': 2}
assert frame.set_index('t').v.resample('MS').sum().tolist() == [3, 3]
assert frame.merge(pd.DataFrame({'k': ['a'], 'w': [9]}), how='left').w.isna().sum() == 1
assert frame.v.rolling(2).mean().tolist()[1:] == [1.5, 2.5]

#: pillow | | drawing, text, WebP, JPEG, PNG, resizing and filters
import io
from PIL import Image, ImageDraw, ImageFilter, ImageFont, features
image = Image.new('RGB', (60, 40), 'white')
draw = ImageDraw.Draw(image)
draw.ellipse((5, 5, 30, 30), fill=(200, 0, 0))
font = ImageFont.load_default(12) if features.check('freetype2') else ImageFont.load_default()
draw.text((32, 10), 'Text', fill='black', font=font)
assert min(image.crop((32, 10, 60, 30)).convert('L').tobytes()) < 100
for format in ['PNG', 'JPEG', 'GIF', 'BMP', 'TIFF'] + ['WEBP'] * features.check('webp'):
    out = io.BytesIO()
    image.save(out, format)
    opened = Image.open(io.BytesIO(out.getvalue()))
    assert (opened.format, opened.size) == (format, (60, 40))
    pixel = opened.convert('RGB').getpixel((17, 17))
    assert pixel[0] > 150 and pixel[1] < 60, (format, pixel)
assert image.resize((30, 20), Image.Resampling.LANCZOS).filter(ImageFilter.GaussianBlur(2)).rotate(45, expand=True).size[0] > 30

#: protobuf | | messages through the native implementation
from google.protobuf import descriptor_pb2, json_format, struct_pb2
from google.protobuf.internal import api_implementation
assert api_implementation.Type() == 'upb'
message = struct_pb2.Struct()
message.update({'a': [1, 'x', None], 'b': {'c': True}})
copy = struct_pb2.Struct.FromString(message.SerializeToString())
assert copy == message and json_format.MessageToDict(copy) == {'a': [1, 'x', None], 'b': {'c': True}}
try:
    descriptor_pb2.FileDescriptorProto.FromString(b'\xff')
    raise AssertionError('broken bytes were accepted')
except Exception as error:
    assert type(error).__name__ == 'DecodeError'

#: pydantic_core | | validation and serialisation with a schema
from pydantic_core import SchemaSerializer, SchemaValidator, ValidationError, core_schema, from_json
schema = core_schema.typed_dict_schema({
    'name': core_schema.typed_dict_field(core_schema.str_schema(min_length=2)),
    'tags': core_schema.typed_dict_field(core_schema.list_schema(core_schema.int_schema(ge=0))),
})
assert SchemaValidator(schema).validate_json('{"name": "ab", "tags": ["1", 2]}') == {'name': 'ab', 'tags': [1, 2]}
try:
    SchemaValidator(schema).validate_python({'name': 'a', 'tags': [-1]})
    raise AssertionError('invalid data was accepted')
except ValidationError as error:
    assert [one['loc'] for one in error.errors()] == [('name',), ('tags', 0)]
assert SchemaSerializer(schema).to_json({'name': 'ab', 'tags': [1]}) == b'{"name":"ab","tags":[1]}' and from_json('[1]') == [1]

#: pyerfa | numpy | Julian dates and precession
import erfa
assert erfa.cal2jd(2026, 11, 15) == (2400000.5, 61359.0)
assert round(float(erfa.obl06(2451545.0, 0.0)), 6) == 0.409093

#: pyproj | numpy certifi | coordinate transformation and geodesics
from pyproj import CRS, Geod, Transformer
x, y = Transformer.from_crs('EPSG:4326', 'EPSG:3857', always_xy=True).transform(10, 50)
assert (round(x), round(y)) == (1113195, 6446276)
assert round(Geod(ellps='WGS84').inv(0, 0, 1, 0)[2]) == 111319
assert CRS('EPSG:25832').is_projected and 'UTM zone 32N' in CRS('EPSG:25832').name
try:
    CRS('EPSG:0')
    raise AssertionError('an unknown system was accepted')
except Exception as error:
    assert type(error).__name__ == 'CRSError'

#: pyrobuf | | lists of messages and of numbers
import pyrobuf_list
numbers = pyrobuf_list.Int32List()
numbers.append(2)
numbers.append(3)
assert list(numbers) == [2, 3]

#: pyrosm | numpy cykhash protobuf | native modules without geopandas
import importlib, pathlib, re, sys, types
package = types.ModuleType('pyrosm')
package.__path__ = ['/data/packages/pyrosm']
sys.modules['pyrosm'] = package
loaded = 0
for path in sorted(pathlib.Path('/data/packages/pyrosm').glob('*.so')):
    try:
        importlib.import_module('pyrosm.' + path.name.split('.')[0])
        loaded += 1
    except ModuleNotFoundError as error:
        assert error.name in ('geopandas', 'pandas', 'rapidjson', 'shapely', 'pyproj'), error
assert loaded >= 3

#: pyrsistent | | vectors and maps
from pyrsistent import pmap, pvector
vector = pvector([1, 2]).append(3)
assert vector.set(0, 9) == pvector([9, 2, 3]) and pmap({'a': 1}).set('b', 2)['b'] == 2

#: python_rapidjson | | JSON and validation
import rapidjson
assert rapidjson.dumps({'b': [1, 2.5], 'a': None}, sort_keys=True) == '{"a":null,"b":[1,2.5]}'
validate = rapidjson.Validator('{"type": "object", "required": ["a"]}')
validate('{"a": 1}')
try:
    validate('{}')
    raise AssertionError('an invalid document was accepted')
except rapidjson.ValidationError as error:
    assert error.args[0] == 'required'
assert rapidjson.loads('[1, /* two */ 2]', parse_mode=rapidjson.PM_COMMENTS) == [1, 2]

#: pyyaml | | documents through libyaml
import yaml
assert yaml.__with_libyaml__
assert yaml.load('a: [1, 2.5, {b: null}]', Loader=yaml.CSafeLoader) == {'a': [1, 2.5, {'b': None}]}
assert yaml.dump({'a': [1, 'x']}, Dumper=yaml.CSafeDumper) == 'a:\n- 1\n- x\n'

#: pyzmq | | refused: runs JavaScript on the host

#: qubed | | compressed trees of data
import qubed
cube = qubed.Qube.from_datacube({'class': 'od', 'step': ['0', '6']})
assert not cube.is_empty() and 'step' in cube.to_ascii() and qubed.Qube.empty().is_empty()

#: regex | | recursive patterns, fuzzy matching and Unicode properties
import regex
assert regex.fullmatch(r'(\((?:[^()]|(?1))*\))', '(a(b)c)') and regex.search('(?:sandbox){e<=1}', 'a sandbax').fuzzy_counts == (1, 0, 0)
assert regex.findall(r'\p{Lu}\p{Ll}+', 'Über Éa x') == ['Über', 'Éa'] and regex.__version__

#: rpds_py | | persistent maps, lists and sets
from rpds import HashTrieMap, HashTrieSet, List
one = HashTrieMap({'a': 1})
two = one.insert('b', 2)
assert len(one) == 1 and two['b'] == 2 and List([1, 2]).push_front(0).first == 0
try:
    one['x']
    raise AssertionError('a missing key was found')
except KeyError:
    assert HashTrieSet([1]).insert(2) == HashTrieSet([1, 2])

#: rtree | | loads; an import fails, because ctypes cannot call C functions
import os
os.environ['SPATIALINDEX_C_LIBRARY'] = '/data/packages/rtree.libs/libspatialindex_c.so'
try:
    import rtree
    raise AssertionError('ctypes called a C function')
except Exception as error:
    assert 'ctypes' in f'{error!r} {error.__cause__!r}'

#: shapely | numpy | union, buffer, intersection, WKT, spatial index and errors
import numpy as np, shapely
from shapely import STRtree
left, right = shapely.box(0, 0, 2, 2), shapely.box(1, 1, 3, 3)
assert left.union(right).area == 7 and left.intersection(right).equals(shapely.box(1, 1, 2, 2))
assert abs(shapely.Point(0, 0).buffer(1, quad_segs=64).area - np.pi) < 0.01
assert shapely.from_wkt('POLYGON ((0 0, 1 0, 1 1, 0 0))').centroid.wkt.startswith('POINT (0.666')
assert STRtree([left, right]).query(shapely.Point(2.5, 2.5), 'intersects').tolist() == [1]
assert shapely.voronoi_polygons(shapely.MultiPoint([(0, 0), (1, 0), (0, 1)])).geoms[0].is_valid
for text in ('POLYGON ((0 0, 1', 'POLYGON ((0 0, 1 1))'):
    try:
        shapely.from_wkt(text)
        raise AssertionError('an invalid geometry was accepted')
    except shapely.errors.GEOSException as error:
        assert 'Exception' in str(error)

#: ujson | | JSON with numbers in every form
import ujson
assert ujson.dumps({'a': [1.5, 1e22, None, 'ä']}) == '{"a":[1.5,1e+22,null,"\\u00e4"]}'
assert ujson.loads('[1e3, -0.1, 123456789012345678901234567890]') == [1000.0, -0.1, 123456789012345678901234567890]
try:
    ujson.loads('[1')
    raise AssertionError('broken JSON was accepted')
except ujson.JSONDecodeError:
    pass

#: wrapt | | proxies and decorators
import wrapt
from wrapt import _wrappers
@wrapt.decorator
def double(wrapped, instance, args, kwargs):
    return 2 * wrapped(*args, **kwargs)
@double
def add(a, b):
    return a + b
assert add(1, 2) == 6 and wrapt.ObjectProxy([1, 2])[1] == 2 and wrapt.ObjectProxy.__module__

#: zfpy | numpy | lossy and lossless compression of floats
import numpy as np, zfpy
data = np.sin(np.linspace(0, 6, 400)).reshape(20, 20)
assert (zfpy.decompress_numpy(zfpy.compress_numpy(data)) == data).all()
packed = zfpy.compress_numpy(data, tolerance=1e-3)
assert len(packed) < data.nbytes / 4 and np.abs(zfpy.decompress_numpy(packed) - data).max() <= 1e-3
