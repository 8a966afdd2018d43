/** Tests the contract of `ObjectStore`. Each implementation runs this suite. */
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
