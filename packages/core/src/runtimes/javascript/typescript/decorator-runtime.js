/**
 * What a class with decorators needs when the program runs. The text of this function becomes part of the program, so it uses
 * nothing from outside. Decorators have the standard form, `(value, context)`. A decorator of a method or accessor that has
 * three parameters has the older form, `(target, name, descriptor)`.
 */
export function createDecorators() {
  const fieldInitializers = {};
  const instanceInitializers = [];
  const metadata = {};
  const slots = { method: 'value', getter: 'get', setter: 'set' };

  const contextOf = ({ kind, name, isStatic }, initializers) => ({
    kind,
    name,
    static: isStatic,
    private: false,
    metadata,
    access: {
      has: (object) => name in object,
      get: (object) => object[name],
      set: (object, value) => {
        object[name] = value;
      },
    },
    addInitializer: (initializer) => void initializers.push(initializer),
  });

  const checked = (result, what) => {
    if (result !== undefined && typeof result !== 'function')
      throw new TypeError(`A decorator of ${what} must return a function or undefined`);
    return result;
  };

  function decorateFunction(owner, element, initializers) {
    const { kind, name, decorators } = element;
    const slot = slots[kind];
    for (const decorator of decorators.reverse()) {
      let descriptor = Object.getOwnPropertyDescriptor(owner, name);
      if (decorator.length >= 3) descriptor = decorator(owner, name, descriptor) ?? descriptor;
      else {
        const result = checked(decorator(descriptor[slot], contextOf(element, initializers)), `a ${kind}`);
        descriptor[slot] = result ?? descriptor[slot];
      }
      Object.defineProperty(owner, name, descriptor);
    }
  }

  function decorateField(element, initializers) {
    const list = [];
    for (const decorator of element.decorators.reverse()) {
      const result = checked(decorator(undefined, contextOf(element, initializers)), 'a field');
      if (result !== undefined) list.unshift(result);
    }
    fieldInitializers[element.key] = list;
  }

  return {
    /** Applies the decorators of the members: those of functions before those of fields, static ones first. */
    members(target, elements) {
      const staticInitializers = [];
      const rank = ({ kind, isStatic }) => (kind === 'field' ? 2 : 0) + (isStatic ? 0 : 1);
      for (const element of elements.sort((a, b) => rank(a) - rank(b))) {
        const initializers = element.isStatic ? staticInitializers : instanceInitializers;
        if (element.kind === 'field') decorateField(element, initializers);
        else decorateFunction(element.isStatic ? target : target.prototype, element, initializers);
      }
      for (const initializer of staticInitializers) initializer.call(target);
    },
    /** Runs the initializers that decorators have added, before the fields of an instance are set. */
    begin(instance) {
      for (const initializer of instanceInitializers) initializer.call(instance);
    },
    /** The first value of a field. */
    init(object, key, value) {
      return fieldInitializers[key].reduce((result, initializer) => initializer.call(object, result), value);
    },
    /** Applies the decorators of the class itself. */
    decorateClass(decorators, name, target) {
      const initializers = [];
      const context = { kind: 'class', name, metadata, addInitializer: (one) => void initializers.push(one) };
      const decorated = decorators.reduceRight(
        (value, decorator) => checked(decorator(value, context), 'a class') ?? value,
        target,
      );
      for (const initializer of initializers) initializer.call(decorated);
      return decorated;
    },
  };
}
