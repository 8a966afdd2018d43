import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ParsedManifests, parseManifests } from './manifests.ts'

function parse(text: string): ParsedManifests {
  return parseManifests(text, 'app.yaml')
}

function summary({ manifests, errors }: ParsedManifests): string[] {
  return [
    ...manifests.map(({ line, object }) => `${line}: ${object.apiVersion} ${object.kind} ${object.metadata.name}`),
    ...errors.map(({ line, message }) => `${line}! ${message}`),
  ]
}

const pod = (name: string): string => `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\n`

describe('manifests', () => {
  test('of several documents have their first line, and empty documents are skipped', () => {
    const text = `# a comment\n---\n${pod('a')}---\n---\n# only a comment\n---\n${pod('b')}...\n`
    expect(summary(parse(text))).toEqual(['3: v1 Pod a', '10: v1 Pod b'])
    expect(parse('')).toEqual({ manifests: [], errors: [] })
  })

  test('in a List are unwrapped, even in nested lists, and get the type of a typed list', () => {
    const text = [
      'apiVersion: v1',
      'kind: List',
      'items:',
      '- {apiVersion: v1, kind: Pod, metadata: {name: a}}',
      '- apiVersion: apps/v1',
      '  kind: DeploymentList',
      '  items:',
      '  - metadata: {name: b}',
      '  - {kind: Odd, metadata: {name: c}}',
      '- null',
    ].join('\n')
    expect(summary(parse(text))).toEqual(['4: v1 Pod a', '8: apps/v1 Deployment b', '9: apps/v1 Odd c'])
  })

  test('may be JSON, with tabs, a byte order mark and Windows line ends', () => {
    const text = '\uFEFF{\r\n\t"apiVersion": "v1",\r\n\t"kind": "Pod",\r\n\t"metadata": {"name": "a"}\r\n}\r\n'
    expect(summary(parse(text))).toEqual(['1: v1 Pod a'])
  })

  test('are parsed as by kubectl: octal modes, merge keys, and times as text', () => {
    const text = `${pod('a')}base: &base {x: 1}\nmerged: {<<: *base, z: 2}\nmode: 0644\nport: 80:80\nday: 2026-01-01\n`
    expect(parse(text).manifests[0]?.object).toMatchObject({
      merged: { x: 1, z: 2 },
      mode: 420,
      port: '80:80',
      day: '2026-01-01',
    })
  })

  test('have no fields that are null, as behind an API server; items of lists stay', () => {
    const text = [
      'apiVersion: policy.karmada.io/v1alpha1',
      'kind: PropagationPolicy',
      'metadata: {name: a, namespace: null, labels:, creationTimestamp: null}',
      'spec:',
      '  placement:',
      '    clusterAffinity:',
      '      clusterNames:',
      '  resourceSelectors: [{apiVersion: v1, kind: Pod, name: null}, null]',
    ].join('\n')
    expect(parse(text).manifests.map(({ object }) => object)).toEqual([
      {
        apiVersion: 'policy.karmada.io/v1alpha1',
        kind: 'PropagationPolicy',
        metadata: { name: 'a' },
        spec: { placement: { clusterAffinity: {} }, resourceSelectors: [{ apiVersion: 'v1', kind: 'Pod' }, null] },
      },
    ])
  })

  test('of a list without a value for its items are none', () => {
    const text = 'apiVersion: v1\nkind: List\nitems:\n---\napiVersion: v1\nkind: PodList\nitems: null\n'
    expect(parse(text)).toEqual({ manifests: [], errors: [] })
  })

  test.each([
    {
      name: 'a label without a value',
      text: 'apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: }}',
      want: '1! metadata.labels[app]: expected a string, found null',
    },
    { name: 'no apiVersion', text: 'kind: Pod\nmetadata: {name: a}', want: '1! apiVersion is missing' },
    { name: 'no kind', text: '\n\napiVersion: v1\nmetadata: {name: a}', want: '3! kind is missing' },
    { name: 'no metadata', text: 'apiVersion: v1\nkind: Pod', want: '1! metadata is missing' },
    { name: 'no name', text: 'apiVersion: v1\nkind: Pod\nmetadata: {}', want: '1! metadata.name is missing' },
    { name: 'a number for a name', text: 'apiVersion: v1\nkind: Pod\nmetadata: {name: 7}', want: 'in quotes' },
    {
      name: 'a generated name',
      text: 'apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}',
      want: 'cannot be served under a generateName',
    },
    {
      name: 'a list',
      text: '- a',
      want: '1! expected a Kubernetes object (apiVersion, kind, metadata.name), found a list',
    },
    { name: 'a text', text: 'hello', want: 'found a string' },
    {
      name: 'an annotation that is not a string',
      text: 'apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {on-call: yes}}',
      want: '1! metadata.annotations[on-call]: expected a string, found true: put it in quotes',
    },
    {
      name: 'labels that are a list',
      text: 'apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: [b]}',
      want: 'a map of',
    },
    {
      name: 'a number for a namespace',
      text: 'apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: 7}',
      want: 'metadata.namespace',
    },
    { name: 'a tab', text: 'apiVersion: v1\nkind: Pod\nmetadata:\n\tname: a', want: '4! is not valid YAML: Tabs' },
    { name: 'an unclosed quote', text: 'apiVersion: "v1\nkind: Pod', want: 'is not valid YAML' },
    {
      name: 'a tag with an unknown handle',
      text: `${pod('a')}secret: !x!vault x`,
      want: '4! is not valid YAML: Could not resolve tag: !x!vault',
    },
    { name: 'a map as a key', text: `${pod('a')}x: {{ .Values.x }}`, want: '4! is not valid YAML: a key must be' },
    { name: 'content after a marker', text: '--- {b: 1}', want: '1! is not valid YAML: only a comment' },
    { name: 'a number that is not finite', text: `${pod('a')}x: .inf`, want: '4! is not valid YAML: .inf cannot be' },
    { name: 'an alias of nothing', text: `${pod('a')}x: *nowhere`, want: 'nowhere' },
    { name: 'a broken item of a list', text: 'apiVersion: v1\nkind: List\nitems:\n- kind: Pod', want: '4! apiVersion' },
  ])('with $name have an error with file, line and expected value', ({ text, want }) => {
    const { manifests, errors } = parse(text)
    expect(manifests).toEqual([])
    expect(errors[0]?.file).toBe('app.yaml')
    expect(summary({ manifests, errors }).join('\n')).toContain(want)
  })

  test('that are valid are returned although others in the file are not', () => {
    expect(summary(parse(`${pod('a')}---\nkind: Pod\n---\n${pod('b')}`))).toEqual([
      '1: v1 Pod a',
      '7: v1 Pod b',
      '5! apiVersion is missing: expected for example v1 or apps/v1',
    ])
  })

  test('that would expand to billions of nodes are rejected', () => {
    const levels = ['a: &a [x, x, x, x, x, x, x, x, x]']
    for (const [level, name] of [...'bcdefghi'].entries()) {
      levels.push(`${name}: &${name} [${Array(9).fill(`*${'abcdefghi'[level]}`).join(', ')}]`)
    }
    const [error] = parse(`${pod('laugh')}${levels.join('\n')}`).errors
    expect(error?.message).toContain('Excessive alias count')
  })

  test('with extreme nesting are rejected', () => {
    expect(parse('['.repeat(20_000)).errors).not.toEqual([])
    const lists = '{"apiVersion":"v1","kind":"List","items":['.repeat(20) + ']}'.repeat(20)
    expect(parse(lists).errors[0]?.message).toContain('nested deeper than')
  })

  test('with a key __proto__ change no other object', () => {
    const { manifests } = parse(`${pod('a')}spec: {__proto__: {polluted: true}}`)
    expect(JSON.stringify(manifests[0]?.object)).toContain('"__proto__":{"polluted":true}')
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  test('of any text are parsed or rejected without an exception', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void parse(text)))
    const soup = fc.array(
      fc.constantFrom('a', ': ', '- ', '\n', ' ', '&x', '*x', '{', '}', '[', ']', '"', '|', '!', '<<', '%'),
    )
    fc.assert(fc.property(soup, (parts) => void parse(parts.join(''))))
  })
})
