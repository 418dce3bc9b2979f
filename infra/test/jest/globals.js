/**
 * The module that test files import as `@jest/globals`. Jest creates new functions for each test file, but shared
 * modules are loaded once for many test files. Each export therefore forwards calls to the function of the current
 * file.
 */
let current

export const setGlobals = (globals) => (current = globals)

export const globalsAddress = import.meta.url

const forward = (name) =>
  new Proxy(() => {}, {
    apply: (_target, _this, args) => current[name](...args),
    get: (_target, property) => current[name][property],
  })

export const describe = forward('describe')
export const it = forward('it')
export const test = forward('test')
export const expect = forward('expect')
export const jest = forward('jest')
export const beforeAll = forward('beforeAll')
export const beforeEach = forward('beforeEach')
export const afterEach = forward('afterEach')
export const afterAll = forward('afterAll')
