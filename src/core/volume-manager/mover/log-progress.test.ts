import { expect, test } from 'vitest'
import { progressEventName, readProgress } from './log.ts'

const event = (message: unknown) => ({ apiVersion: 'v1', kind: 'Event', metadata: { name: 'e' }, message })
const told = (figures: object) => event(JSON.stringify({ v: 1, ...figures }))

test.each([
  {
    name: 'with a total',
    said: told({ attempt: 2, doneBytes: 10, totalBytes: 40, doneFiles: 1, totalFiles: 3 }),
    want: { attempt: 2, bytes: 10, totalBytes: 40, files: 1 },
  },
  { name: 'without a total', said: told({ attempt: 1, doneBytes: 0 }), want: { attempt: 1, bytes: 0, files: 0 } },
  {
    name: 'before the source is listed',
    said: told({ attempt: 1, doneBytes: 0, totalBytes: 0 }),
    want: { attempt: 1, bytes: 0, files: 0 },
  },
  { name: 'without an Event', said: undefined, want: undefined },
  { name: 'without a message', said: event(undefined), want: undefined },
  { name: 'that is not JSON', said: event('{"attempt":'), want: undefined },
  { name: 'with a message that is a number', said: event(7), want: undefined },
  { name: 'that is null', said: event('null'), want: undefined },
  { name: 'that is a list', said: event('[]'), want: undefined },
  { name: 'without an attempt', said: told({ doneBytes: 10 }), want: undefined },
  { name: 'with negative bytes', said: told({ attempt: 1, doneBytes: -1 }), want: undefined },
])('the progress $name', ({ said, want }) => {
  expect(readProgress(said)).toEqual(want)
})

test('the progress of a pod is in one Event, which is found by name', () => {
  expect(progressEventName('vck-resource-x-1')).toBe('vck-resource-x-1.data-path-progress')
})
