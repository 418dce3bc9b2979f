import type { Plugin } from 'esbuild'

/**
 * pino asks who created a logger, to find transports relative to that file. Sluice uses none. With
 * --enable-source-maps Node answers by reading the whole source map of the caller: 0.2 s of processor time at each start.
 */
export const pinoCaller: Plugin = {
  name: 'pino-caller',
  setup: ({ onLoad }) =>
    onLoad({ filter: /[\\/]pino[\\/]lib[\\/]caller\.js$/ }, () => ({ contents: 'module.exports = () => undefined' })),
}
