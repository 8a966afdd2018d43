import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FairQueue } from './fair-queue.ts'

/** The items in the order in which they are taken. */
function takeAll<T>(queue: FairQueue<T>): T[] {
  const taken: T[] = []
  for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item)
  return taken
}

describe('a queue that namespaces share', () => {
  test('has the single item of a namespace second, behind one of 10,000 of another one', () => {
    const queue = new FairQueue<string>()
    for (let i = 0; i < 10_000; i++) queue.add(`a${i}`, ['a'])
    queue.add('b0', ['b'])

    expect([queue.take(), queue.take(), queue.take(), queue.size]).toEqual(['a0', 'b0', 'a1', 9_998])
  })

  test.each<{ name: string; items: [string, string[]][]; want: string[] }>([
    {
      name: 'gives each namespace its turn',
      items: [
        ['a1', ['a']],
        ['a2', ['a']],
        ['a3', ['a']],
        ['b1', ['b']],
        ['b2', ['b']],
        ['c1', ['c']],
      ],
      want: ['a1', 'b1', 'c1', 'a2', 'b2', 'a3'],
    },
    {
      name: 'has an item for several namespaces once, in the first of their turns',
      items: [
        ['a1', ['a']],
        ['a2', ['a']],
        ['both', ['a', 'b']],
      ],
      want: ['a1', 'both', 'a2'],
    },
    {
      name: 'adds a namespace to an item that waits',
      items: [
        ['a1', ['a']],
        ['a2', ['a']],
        ['a3', ['a']],
        ['a3', ['b']],
      ],
      want: ['a1', 'a3', 'a2'],
    },
    {
      name: 'gives items without a namespace one turn together',
      items: [
        ['1', []],
        ['2', []],
        ['a1', ['a']],
      ],
      want: ['1', 'a1', '2'],
    },
    { name: 'is empty', items: [], want: [] },
  ])('$name', ({ items, want }) => {
    const queue = new FairQueue<string>()
    for (const [item, namespaces] of items) queue.add(item, namespaces)

    expect(takeAll(queue)).toEqual(want)
    expect(queue.size).toBe(0)
  })

  test('has no item that was deleted', () => {
    const queue = new FairQueue<string>()
    queue.add('a1', ['a', 'b'])
    queue.add('b1', ['b'])
    queue.delete('a1')
    queue.delete('unknown')

    expect([queue.has('a1'), queue.has('b1'), queue.size, takeAll(queue)]).toEqual([false, true, 1, ['b1']])
  })

  test('takes no namespace twice while another one waits, for any arrivals', () => {
    const arrival = fc.record({ namespace: fc.constantFrom('a', 'b', 'c', 'd'), isTaken: fc.boolean() })
    fc.assert(
      fc.property(fc.array(arrival, { maxLength: 200 }), (arrivals) => {
        const queue = new FairQueue<{ namespace: string }>()
        const waiting = new Map<string, number>()
        const passedOver = new Map<string, string[]>()
        const take = () => {
          const namespace = queue.take()?.namespace
          if (namespace === undefined) return
          waiting.set(namespace, (waiting.get(namespace) ?? 0) - 1)
          passedOver.delete(namespace)
          for (const [other, count] of waiting) {
            if (count > 0 && other !== namespace) passedOver.set(other, [...(passedOver.get(other) ?? []), namespace])
          }
          for (const others of passedOver.values()) expect(others).toEqual([...new Set(others)])
        }
        for (const { namespace, isTaken } of arrivals) {
          queue.add({ namespace }, [namespace])
          waiting.set(namespace, (waiting.get(namespace) ?? 0) + 1)
          if (isTaken) take()
        }
        while (queue.size > 0) take()

        expect([...waiting.values()].every((count) => count === 0)).toBe(true)
      }),
    )
  })
})
