import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { K8sObject } from '../../api/meta.ts'
import { ObjectCache, type ObjectChange } from './cache.ts'

interface Item extends K8sObject {
  tags: string[]
}

function build(name: string, version: number, tags: string[] = []): Item {
  const metadata = { name, namespace: name < 'c' ? 'one' : 'two', resourceVersion: String(version) }
  return { apiVersion: 'v1', kind: 'Item', metadata, tags }
}

function openCache(): ObjectCache<Item> {
  return new ObjectCache<Item>({ tag: (item) => item.tags })
}

function summary(changes: Iterable<ObjectChange<Item>>): string[] {
  return [...changes].map(
    ({ before, after }) =>
      `${before?.metadata.resourceVersion ?? '-'}>${after?.metadata.resourceVersion ?? '-'} ${(after ?? before)?.metadata.name}`,
  )
}

/** Replaces all objects, as a list does. */
function replaceAll(cache: ObjectCache<Item>, items: readonly Item[]): Iterable<ObjectChange<Item>> {
  const staged = cache.stage()
  for (const item of items) staged.add(item)
  return cache.commit()
}

describe('a cache', () => {
  test('replaces all objects at once and returns the differences, deletions included', () => {
    const cache = openCache()
    expect(cache.synced).toBe(false)
    expect(summary(replaceAll(cache, [build('a', 1), build('b', 2), build('c', 3)]))).toEqual([])
    expect(cache.synced).toBe(true)
    expect(summary(replaceAll(cache, [build('b', 2), build('c', 4), build('d', 5)]))).toEqual([
      '1>- a',
      '3>4 c',
      '->5 d',
    ])
    expect(cache.size).toBe(3)
  })

  test('returns the old state until the new one is committed', () => {
    const cache = openCache()
    replaceAll(cache, [build('a', 1, ['x'])])
    const staged = cache.stage()
    staged.add(build('b', 2, ['x']))
    expect(cache.byIndex('tag', 'x').map((item) => item.metadata.name)).toEqual(['a'])
    const changes = cache.commit()
    expect(cache.byIndex('tag', 'x').map((item) => item.metadata.name)).toEqual(['b'])
    expect(summary(changes)).toEqual(['1>- a', '->2 b'])
  })

  test('discards a staged state when another one is staged', () => {
    const cache = openCache()
    cache.stage().add(build('a', 1))
    cache.stage().add(build('b', 2))
    cache.commit()
    expect([...cache.values()].map((item) => item.metadata.name)).toEqual(['b'])
  })

  test('reuses the cached object of an unchanged version', () => {
    const cache = openCache()
    const first = build('a', 1)
    replaceAll(cache, [first])
    replaceAll(cache, [build('a', 1)])
    expect(cache.get('one', 'a')).toBe(first)
    expect(cache.put(build('a', 1))).toBeUndefined()
  })

  test('treats an object with another uid as changed, even with an equal version', () => {
    const cache = openCache()
    replaceAll(cache, [build('a', 1)])
    const reborn = build('a', 1)
    reborn.metadata.uid = 'other'
    expect(cache.put(reborn)).toEqual({ before: build('a', 1), after: reborn })
  })

  test('does not change when an index function throws', () => {
    const cache = new ObjectCache<Item>({
      tag: (item) => {
        if (item.tags.length === 0) throw new Error('no tags')
        return item.tags
      },
    })
    replaceAll(cache, [build('a', 1, ['x'])])
    expect(() => cache.put(build('a', 2))).toThrow('no tags')
    expect(cache.get('one', 'a')?.metadata.resourceVersion).toBe('1')
    expect(cache.byIndex('tag', 'x')).toHaveLength(1)
  })

  test('returns the same objects by index as a search of all objects, after any changes', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
    const tags = fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 4 })
    const step = fc.oneof(
      fc.record({ do: fc.constant('put' as const), name, tags }),
      fc.record({ do: fc.constant('remove' as const), name, tags }),
      fc.record({ do: fc.constant('replace' as const), name, tags }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const cache = openCache()
        const model = new Map<string, Item>()
        for (const [version, { do: verb, name, tags }] of steps.entries()) {
          const item = build(name, version, tags)
          if (verb === 'replace') model.clear()
          if (verb === 'remove') model.delete(name)
          else model.set(name, item)
          if (verb === 'put') cache.put(item)
          else if (verb === 'remove') cache.remove(item.metadata.namespace, name)
          else replaceAll(cache, [item])
        }
        expect(new Set(cache.values())).toEqual(new Set(model.values()))
        expect(cache.size).toBe(model.size)
        for (const tag of ['x', 'y', 'z']) {
          const wanted = [...model.values()].filter((item) => item.tags.includes(tag))
          const found = cache.byIndex('tag', tag)
          expect(new Set(found)).toEqual(new Set(wanted))
          expect(found).toHaveLength(wanted.length)
        }
      }),
    )
  })

  test('adds and removes many objects under one key', () => {
    const cache = openCache()
    const items = Array.from({ length: 100 }, (_, number) => build(`n${number}`, number, ['x']))
    for (const item of items) cache.put(item)
    const all = cache.byIndex('tag', 'x')
    expect(all).toHaveLength(100)
    expect(cache.byIndex('tag', 'x')).toBe(all)
    for (const item of items.slice(1)) cache.remove(item.metadata.namespace, item.metadata.name ?? '')
    expect(cache.byIndex('tag', 'x')).toEqual([items[0]])
    cache.remove('two', 'n0')
    expect(cache.byIndex('tag', 'x')).toEqual([])
    expect(all).toHaveLength(100)
  })
})
