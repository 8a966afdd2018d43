import { expect, test } from 'vitest'
import { makeSource } from '../../test/builders.ts'
import { type DataSource, dataSources } from '../api/data-source.ts'
import { planDeletedDefinition } from './deleted-definition.ts'

const FINALIZER = 'lodestone.dev/source'
const source = (finalizers: string[], deletionTimestamp?: string) =>
  makeSource({}, { resourceVersion: '7', finalizers, ...(deletionTimestamp && { deletionTimestamp }) })
const DELETED = '2026-01-01T00:00:00Z'

test.each<{ name: string; object: DataSource | undefined; want: object }>([
  { name: 'that does not exist any more: nothing', object: undefined, want: { actions: [] } },
  {
    name: 'that is not deleted yet: looked at again',
    object: source([FINALIZER]),
    want: { actions: [], requeueAfterMs: 2000 },
  },
  {
    name: 'that is deleted: our finalizer is removed, for the resourceVersion that was read',
    object: source(['other.io/x', FINALIZER], DELETED),
    want: {
      actions: [
        {
          kind: 'patch',
          of: { type: dataSources, name: source([]).metadata.name },
          patch: { metadata: { resourceVersion: '7', finalizers: ['other.io/x'] } },
        },
      ],
    },
  },
  { name: 'that waits for another client: nothing', object: source(['other.io/x'], DELETED), want: { actions: [] } },
])('an object of a deleted CRD $name', ({ object, want }) => {
  expect(planDeletedDefinition(dataSources, object, FINALIZER)).toEqual(want)
})
