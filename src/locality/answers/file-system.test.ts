/** Tests which names belong to a file system. */
import { describe, expect, test } from 'vitest'
import { type FileSystem, pathIn } from './file-system.ts'

const lake: FileSystem = {
  root: 'hdfs://lake',
  servers: ['https://nn1.example.org:9871', 'https://nn2.example.org:9871'],
}
const node: FileSystem = {
  root: 'hdfs://nn1.example.org:9000',
  servers: ['http://nn1.example.org:9870', 'http://nn2:9870'],
}
const union: FileSystem = { root: 'viewfs://union', servers: ['http://httpfs:14000'] }
const knox: FileSystem = { root: 'hdfs://lake', servers: ['https://knox:8443/gateway/lake'] }

const cases = (system: FileSystem, names: readonly string[]) =>
  names.map((name) => ({ system, name, root: system.root }))

describe('a name of the file system itself has its path', () => {
  test.each([
    ...cases(lake, [
      '/x/y',
      '/x//y/',
      'hdfs://lake/x/y',
      'hdfs://lake//x/y/',
      'HDFS://LAKE/x/y',
      'hdfs://lake./x/y',
      'hdfs://lake:8020/x/y',
      'hdfs://lake:/x/y',
      'hdfs:///x/y',
      'hdfs:/x/y',
      '///x/y',
      '//lake/x/y',
      'webhdfs://lake/x/y',
      'swebhdfs://lake:9871/x/y',
      'hdfs://nn2.example.org/x/y',
      'hdfs://NN1.example.org:8020/x/y',
      'swebhdfs://nn1.example.org:9871/x/y',
      'webhdfs://nn1.example.org:9870/x/y',
      'webhdfs://nn1.example.org:50070/x/y',
    ]),
    ...cases(node, ['hdfs://nn1.example.org:9000/x/y', 'hdfs://nn2:9000/x/y', 'webhdfs://nn2:9870/x/y']),
    ...cases(union, ['viewfs://union/x/y', 'viewfs:///x/y', 'webhdfs://httpfs:14000/x/y']),
    ...cases(knox, ['hdfs://lake/x/y']),
  ])('$name in $root', ({ system, name }) => {
    expect(pathIn(system, name)).toEqual({ path: '/x/y' })
  })
})

describe('a name of another file system is refused', () => {
  test.each([
    ...cases(lake, [
      'hdfs://archive/x/y',
      'hdfs://lake2/x/y',
      'hdfs://lake.example.org/x/y',
      'hdfs://lake:9000/x/y',
      'hdfs://nn1.example.org:9000/x/y',
      'hdfs://l%61ke/x/y',
      '//archive/x/y',
      'viewfs://lake/x/y',
      'viewfs:///x/y',
      'webhdfs:///x/y',
      'webhdfs://archive/x/y',
      'webhdfs://nn1.example.org:14000/x/y',
      'file:///x/y',
      'file:/x/y',
      's3a://lake/x/y',
      'abfss://container@lake.dfs.core.windows.net/x/y',
    ]),
    ...cases(node, ['hdfs://nn1.example.org/x/y', 'hdfs://nn1.example.org:8020/x/y', 'hdfs://nn2/x/y']),
    ...cases(union, ['hdfs://union/x/y', 'hdfs:///x/y', 'hdfs://httpfs/x/y', 'webhdfs://httpfs:14001/x/y']),
    ...cases(knox, ['swebhdfs://knox:8443/x/y', 'hdfs://knox/x/y']),
  ])('$name in $root', ({ system, name }) => {
    expect(pathIn(system, name)).toEqual({ refusal: expect.any(String) })
  })
})

test('a refusal names both file systems and the way out', () => {
  expect(pathIn(lake, 'hdfs://archive/x')).toEqual({
    refusal:
      'hdfs://archive/x: is in the file system hdfs://archive, but this system is hdfs://lake; ' +
      'name its own system, or correct extra.defaultFs of this one',
  })
})

test.each(['hdfs://etl:hunter2@lake/x', 'hdfs://lake@archive/x', '//hunter2@lake/x'])(
  '%s is refused for its user, which the message does not repeat',
  (name) => {
    expect(pathIn(lake, name)).toEqual({ refusal: 'the name of a path must not have a user' })
  },
)

test.each(['relative', './x', '/a/../b', '/a/.', '', 'hdfs:x', 'hdfs://lake/../x'])('%j is no path', (name) => {
  expect(pathIn(lake, name)).toEqual({ refusal: `${name}: must be a path from the root, without . and ..` })
})

test.each([
  { name: 'hdfs://lake', want: '/' },
  { name: 'hdfs://lake/', want: '/' },
  { name: '/', want: '/' },
  { name: '/a%20b/ü?#', want: '/a%20b/ü?#' },
  { name: '/hdfs:/x', want: '/hdfs:/x' },
])('the path of $name is $want', ({ name, want }) => {
  expect(pathIn(lake, name)).toEqual({ path: want })
})
