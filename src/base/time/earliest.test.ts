import { expect, test } from 'vitest'
import { earliest } from './earliest.ts'

test.each<[times: (number | undefined)[], want: number | undefined]>([
  [[], undefined],
  [[undefined], undefined],
  [[5, undefined, 3], 3],
  [[0, 1], 0],
  [[-1, undefined], -1],
])('the earliest of %j is %j', (times, want) => {
  expect(earliest(...times)).toBe(want)
})
