import { describe, expect, test } from 'vitest'
import { memoryWarning, oldSpaceMib } from './memory.ts'

const MEBIBYTE = 2 ** 20

describe('the old generation', () => {
  test.each([
    { container: 512, want: 192 },
    { container: 1024, want: 672 },
    { container: 8192, want: 7392 },
    { container: 128, want: 96 },
  ])('of a container of $container MiB has $want MiB', ({ container, want }) => {
    expect(oldSpaceMib(container * MEBIBYTE)).toBe(want)
  })
})

describe('a warning', () => {
  const plan = { containerBytes: 512 * MEBIBYTE, heapBytes: 240 * MEBIBYTE, bytesInFlight: 64 * MEBIBYTE }

  test('is absent for values that are derived from the container', () => {
    expect(memoryWarning(plan)).toBeUndefined()
  })

  test('is given if the bytes in flight do not fit into the container, with both sums', () => {
    expect(memoryWarning({ ...plan, bytesInFlight: 128 * MEBIBYTE })).toContain(
      "need 544 MiB, more than the container's 512 MiB",
    )
  })
})
