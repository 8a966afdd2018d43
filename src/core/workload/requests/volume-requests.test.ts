import { describe, expect, test } from 'vitest'
import { parseVolumeRequests } from './volume-requests.ts'

const ROOT = 'metadata.annotations[lodestone.dev/volumes]'

test.each([
  ['an object', '{"name":"mnist"}', [{ path: ROOT, request: { name: 'mnist' } }]],
  [
    'a list',
    '[{"name":"a"},{"name":"b","id":"v"}]',
    [
      { path: `${ROOT}[0]`, request: { name: 'a' } },
      { path: `${ROOT}[1]`, request: { name: 'b', id: 'v' } },
    ],
  ],
  [
    'every field',
    '{"name":"a","id":"v","shard":"*0_1*","enforcement":"Preferred","readOnly":true,"mount-path":"/d","containers":[{"name":"main","mount-path":"/e"}]}',
    [
      {
        path: ROOT,
        request: {
          name: 'a',
          id: 'v',
          shard: '*0_1*',
          enforcement: 'Preferred',
          readOnly: true,
          'mount-path': '/d',
          containers: [{ name: 'main', 'mount-path': '/e' }],
        },
      },
    ],
  ],
])('%s is read', (_name, annotation, requests) => {
  expect(parseVolumeRequests(annotation)).toEqual({ requests })
})

describe('the annotation is rejected:', () => {
  // Third-party kinds do not validate the annotations in their templates.
  test.each([[null], [7], [['{"name":"a"}']], [{ name: 'a' }]])(
    'an annotation that is not a string: %j',
    (annotation) => {
      expect(parseVolumeRequests(annotation)).toEqual({
        errors: [{ path: ROOT, code: 'Invalid', message: expect.stringContaining('must be a string') }],
      })
    },
  )

  test.each<[string, string, string[]]>([
    ['text that is not JSON', 'mnist', ['']],
    ['a value that is neither an object nor a list', '"mnist"', ['']],
    ['null', 'null', ['']],
    ['an empty list', '[]', ['']],
    ['a list in a list', '[[]]', ['[0]']],
    ['a request without a name', '{}', ['.name']],
    ['an empty name', '{"name":""}', ['.name']],
    ['a name that is not a text', '[{"name":"a"},{"name":1}]', ['[1].name']],
    ['an unknown field', '{"name":"a","nodeAffinity":{}}', ['.nodeAffinity']],
    ['the name that pods use for mount-path', '{"name":"a","mountPath":"/d"}', ['.mountPath']],
    ['another enforcement', '{"name":"a","enforcement":"Maybe"}', ['.enforcement']],
    ['a container without a name', '{"name":"a","containers":[{"mount-path":"/d"}]}', ['.containers[0].name']],
    ['a relative path', '{"name":"a","mount-path":"data"}', ['.mount-path']],
    [
      'a path with ..',
      '{"name":"a","containers":[{"name":"m","mount-path":"/a/../b"}]}',
      ['.containers[0].mount-path'],
    ],
    ['a path with a colon', '{"name":"a","mount-path":"/a:ro"}', ['.mount-path']],
    ['the root', '{"name":"a","mount-path":"//"}', ['.mount-path']],
    ['several errors together', '[{"id":1},{"name":"a","readOnly":"yes"}]', ['[0].name', '[0].id', '[1].readOnly']],
    ['a field called __proto__', '{"name":"a","__proto__":{}}', ['.__proto__']],
  ])('%s', (_name, annotation, paths) => {
    const parsed = parseVolumeRequests(annotation)
    expect('errors' in parsed && parsed.errors.map(({ path }) => path)).toEqual(paths.map((path) => `${ROOT}${path}`))
  })

  test('with the remedy', () => {
    expect(parseVolumeRequests('[{"name":"a","mountPath":"/d"}]', 'spec.template.metadata.annotations')).toEqual({
      errors: [
        {
          path: 'spec.template.metadata.annotations[lodestone.dev/volumes][0].mountPath',
          code: 'NotSupported',
          message: 'unknown field; use mount-path',
        },
      ],
    })
  })
})
