/** Tests which mount points are inside a directory. */
import { expect, test } from 'vitest'
import { findMount } from './mounts.ts'

const line = (point: string) => `63 43 0:39 / ${point} rw,relatime shared:1 - tmpfs none rw`

test.each([
  { name: 'beside it', point: '/volume/data2', want: undefined },
  { name: 'around it', point: '/volume', want: undefined },
  { name: 'at it', point: '/volume/data', want: '/volume/data' },
  { name: 'deep in it', point: '/volume/data/a/b', want: '/volume/data/a/b' },
  { name: 'with a space in its name', point: '/volume/data/a\\040b', want: '/volume/data/a b' },
  { name: 'with a name that is not ASCII', point: '/volume/data/\xc3\xb6', want: '/volume/data/ö' },
])('a file system that is mounted $name', ({ point, want }) => {
  expect(findMount(`${line('/')}\n${line(point)}\n`, '/volume/data')).toBe(want)
})

test('the name of the directory may have a space too', () => {
  expect(findMount(line('/vol\\040ume/data/x'), '/vol ume/data')).toBe('/vol ume/data/x')
})
