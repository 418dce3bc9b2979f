import { describe, expect, it } from '@jest/globals'
import { findAtPath, listArrayPaths, listFieldPaths, setAtPath } from './json-path.ts'

describe('a path in JSON', () => {
  it.each<[unknown, string, unknown]>([
    [{ a: { b: [1, { c: 2 }] } }, 'a.b.1.c', 2],
    [[{ total: 5 }, [7]], '0.total', 5],
    [[{ total: 5 }, [7]], '1', [7]],
    [{ '@odata.nextLink': 'x' }, '@odata.nextLink', 'x'],
    [{ links: { 'next.page': 'x' } }, 'links.next.page', 'x'],
    [{ 'a.b': 1, a: { b: 2 } }, 'a.b', 1],
    [{ a: null }, 'a', null],
    [{ a: null }, 'a.b', undefined],
    [{ a: 'text' }, 'a.length', undefined],
    [{}, 'constructor.name', undefined],
    [{}, '__proto__', undefined],
    ['text', '0', undefined],
    [undefined, 'a', undefined],
  ])('finds in %j at %s: %j', (value, path, expected) => {
    expect(findAtPath(value, path)).toEqual(expected)
  })

  it('sets a value in a copy, and never in a prototype', () => {
    const target = { a: { b: 1 }, c: [1] }
    expect(setAtPath(target, 'a.d.e', 2)).toEqual({ a: { b: 1, d: { e: 2 } }, c: [1] })
    expect(setAtPath(target, 'c.x', 2)).toEqual({ a: { b: 1 }, c: { x: 2 } })
    setAtPath({}, '__proto__.polluted', 1)
    setAtPath({}, 'constructor.prototype.polluted', 1)
    expect([target, ({} as { polluted?: unknown }).polluted]).toEqual([{ a: { b: 1 }, c: [1] }, undefined])
  })

  it('is listed for lists and for fields', () => {
    expect(listArrayPaths({ a: [], b: { c: [1], d: { e: 1 } }, f: null })).toEqual(['a', 'b.c'])
    expect(listFieldPaths([{ a: 1, b: { c: null } }, 'text', null, { b: { d: [] } }])).toEqual(['a', 'b.c', 'b.d'])
  })
})
