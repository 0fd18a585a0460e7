/**
 * What the source of a program shows, as plain data. The worker that ran the program parses it, and only if the run ended at
 * a limit or with an error that needs it. Texts come from the program and are short.
 */
import * as z from 'zod';

const text = z.string().max(300);
const names = z.array(text).max(50);
const line = z.number().int().min(1);

/** What the statements of a loop do with variables. */
const loopBody = z.strictObject({
  /** A statement decides whether or how often others run. */
  isConditional: z.boolean(),
  /** Lists to which one item is added, once for each statement. */
  appended: names,
  /** Collections to which items are added in any way. */
  grown: names,
  increased: names,
  decreased: names,
  /** Variables that follow a link, as in `node = node.next`, if the loop changes no links. */
  followed: names,
});
export interface LoopBody extends Readonly<z.infer<typeof loopBody>> {}

const sourceLoop = z.strictObject({
  /** Line of the loop's head, starting at 1. */
  line,
  lastLine: line,
  /** The head on one line, e.g. `while n != 1:`. */
  head: text,
  /** The part of the head that decides whether the loop continues; empty if there is none. */
  condition: text,
  /** The variables and the collection of a loop over items; undefined for other loops. */
  items: z.strictObject({ names: text, collection: text }).optional(),
  /** The variable and the exclusive bound of a loop over a range of numbers. */
  range: z.strictObject({ name: text, bound: text }).optional(),
  /** The first value of the variable of a loop that counts upwards. */
  start: text.optional(),
  /** The condition is always true or the iterator never ends, and no statement in the loop leaves it. */
  isInfinite: z.boolean(),
  /** The loop is part of an expression, as in `sum(x for x in count())`. */
  isExpression: z.boolean().optional(),
  /**
   * The body only awaits what is ready, and nothing else in the program waits. The function of the loop is not always on
   * the stack.
   */
  isAwaiting: z.boolean().optional(),
  body: loopBody,
});
export interface SourceLoop extends Readonly<z.infer<typeof sourceLoop>> {}

const sourceFunction = z.strictObject({
  name: text,
  line,
  lastLine: line,
  /** Undefined if they have a form other than names, or if the function assigns one. */
  parameters: names.optional(),
  /** Variables whose objects it changes, or whose methods it calls without using the result. */
  changed: names,
  /** The lines on which it calls itself. */
  selfCalls: z.array(line).max(50),
  /** It calls itself without using the result. */
  callsItselfForEffect: z.boolean(),
});
export interface SourceFunction extends Readonly<z.infer<typeof sourceFunction>> {}

const calledExpression = z.strictObject({
  /** As in `Math.rnd`. */
  callee: text,
  /** Its last name, as in `rnd`; undefined for an expression such as `items[0]`. */
  name: text.optional(),
  /** The object of a method, as in `Math`. */
  owner: text.optional(),
  /** What the owner is, if it is a literal. */
  ownerLiteral: z.enum(['array', 'text', 'number', 'regex']).optional(),
  /** The program declares a function or a class with this name. */
  isDeclared: z.boolean(),
});
export interface CalledExpression extends Readonly<z.infer<typeof calledExpression>> {}

export const programFacts = z.strictObject({
  /** Outer loops before the loops that they contain. */
  loops: z.array(sourceLoop).max(200),
  functions: z.array(sourceFunction).max(300),
  /** The calls around the position of the error, innermost first. */
  calls: z.array(calledExpression).max(20),
});
export interface SourceFacts extends Readonly<z.infer<typeof programFacts>> {}
