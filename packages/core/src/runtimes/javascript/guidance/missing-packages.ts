/** npm packages that programs import and the sandbox does not have, with alternatives. */
import type { Alternative } from '../../../analysis/rules/rule-factories.ts';
import { SQLITE_MODULE } from './missing-globals.ts';

const NO_NETWORK: Alternative = {
  note: 'There is no network: fetch the data outside the sandbox, pass it with the files option, and read it with readText or readJson',
  withNetwork: { instead: 'fetch' },
};
const NO_SERVER: Alternative = {
  note: 'Programs cannot listen on a port: call the functions of the program directly',
};
const NO_BROWSER: Alternative = {
  note: 'There is no browser and no network: save the page outside the sandbox and pass it with the files option',
};
const MARKUP: Alternative = {
  packages: ['cheerio', 'fast-xml-parser'],
};
const DATES: Alternative = { packages: ['luxon', 'dayjs', 'date-fns'] };
const CSV: Alternative = { packages: ['papaparse', 'csv-parse'] };
const COLLECTIONS: Alternative = { packages: ['lodash', 'immutable'] };
const SCHEMAS: Alternative = { packages: ['zod', 'ajv'] };
const NUMBERS: Alternative = { packages: ['decimal.js', 'mathjs'], instead: 'Math and BigInt' };
const IDS: Alternative = { packages: ['nanoid', 'uuid'], instead: 'crypto.randomUUID()' };
const DATABASE: Alternative = { instead: SQLITE_MODULE };
const CHARTS: Alternative = {
  instead:
    "the built-in chart, which needs no import: chart.bar(rows, { x: 'city', y: 'sales' }), also line, scatter, histogram, pie and heatmap",
};
const IMAGES: Alternative = { instead: 'SVG and HTML files as text' };
const NATIVE_IMAGES: Alternative = { note: 'Native add-ons are not available', ...IMAGES };
const TESTS: Alternative = {
  instead: "the built-in modules: import test from 'node:test' and import assert from 'node:assert'",
};
const CONSOLE: Alternative = { instead: 'console.log' };
const EXCEL: Alternative = { packages: ['xlsx'] };
const PDF: Alternative = { packages: ['pdfkit', 'pdf-lib'] };
const FILES: Alternative = { instead: 'readText, writeText, listFiles, copyFile and removeFile' };
const UI: Alternative = {
  note: 'There is no DOM',
  packages: ['mustache', 'handlebars'],
  instead: 'HTML as text',
};

/** The packages of a group, with what to use instead. */
const GROUPS: readonly (readonly [packages: string, alternative: Alternative])[] = [
  [
    'axios node-fetch got superagent request undici ky ws socket.io socket.io-client nodemailer openai',
    NO_NETWORK,
  ],
  ['@anthropic-ai/sdk aws-sdk stripe firebase', NO_NETWORK],
  ['express koa fastify hapi @hapi/hapi next http-server', NO_SERVER],
  ['puppeteer playwright selenium-webdriver', NO_BROWSER],
  ['jsdom xmldom @xmldom/xmldom node-html-parser htmlparser2 parse5', MARKUP],
  ['moment-timezone', DATES],
  ['csv-parser csv fast-csv csvtojson neat-csv', CSV],
  ['underscore ramda lodash.groupby immer', COLLECTIONS],
  ['joi yup superstruct', SCHEMAS],
  ['big.js bn.js numeric', NUMBERS],
  ['cuid', IDS],
  ['sqlite3 better-sqlite3 sql.js pg mysql mysql2 mongodb mongoose redis knex sequelize prisma', DATABASE],
  ['chart.js d3', CHARTS],
  ['jimp pngjs', IMAGES],
  ['sharp canvas', NATIVE_IMAGES],
  ['jest mocha chai vitest ava tape @jest/globals', TESTS],
  ['colors kleur ora winston pino debug cli-table3', CONSOLE],
  ['exceljs', EXCEL],
  ['jspdf pdfmake', PDF],
  ['fs-extra glob rimraf mkdirp', FILES],
  ['react react-dom vue svelte jquery', UI],
];

/** By name of the package. */
export const ALTERNATIVES: Readonly<Record<string, Alternative>> = Object.fromEntries(
  GROUPS.flatMap(([packages, alternative]) => packages.split(' ').map((name) => [name, alternative])),
);
