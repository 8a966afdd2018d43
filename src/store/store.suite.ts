/** The contract of every `ObjectStore`, as tests that each implementation runs. */
import { describe } from 'vitest'
import { describeReads } from './store-reads.suite.ts'
import type { OpenStore } from './store-under-test.fake.ts'
import { describeWrites } from './store-writes.suite.ts'

export function describeObjectStore(name: string, open: OpenStore): void {
  describe(`${name} is an ObjectStore`, () => {
    describeReads(open)
    describeWrites(open)
  })
}
