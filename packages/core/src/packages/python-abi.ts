/** The interpreter of Python guests, in the terms of package metadata and wheel tags. A test compares it with the pinned binary. */

export const PYTHON_FULL_VERSION = '3.14.2';
/** The version without the patch number. */
export const PYTHON_VERSION = PYTHON_FULL_VERSION.split('.').slice(0, 2).join('.');
/** The tag of wheels for this version. */
export const PYTHON_TAG = `cp${PYTHON_VERSION.replace('.', '')}`;
/** The platform tag of the libraries that guests can load. */
export const NATIVE_PLATFORM = 'pyemscripten_2026_0_wasm32';
/** The tags of such wheels, for messages. */
export const NATIVE_TAGS = `${PYTHON_TAG}-${NATIVE_PLATFORM}`;
