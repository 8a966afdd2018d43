import { expect, test } from 'vitest'
import type { WorkloadKindEntry } from './entry.ts'
import { validateWorkloadKinds } from './validate.ts'

const gadget: WorkloadKindEntry = { group: 'example.com', versions: ['v1'], kind: 'Gadget', plural: 'gadgets' }

test.each<[string, Partial<WorkloadKindEntry>, string, string]>([
  ['a group', { group: 'Example.com' }, 'group', 'must be an API group, e.g. example.com'],
  ['a version', { versions: ['v1', '1'] }, 'versions[1]', 'must be e.g. v1beta1'],
  ['a kind', { kind: 'gadget' }, 'kind', 'must be a kind, e.g. TrainJob'],
  ['a plural', { plural: 'Gadgets' }, 'plural', 'must be the resource of the kind, e.g. trainjobs'],
  [
    'a path of templates',
    { templates: ['spec.template', 'a b'] },
    'templates[1]',
    'must be a JSONPath, e.g. spec.tasks[*].template; not " b"',
  ],
  [
    'a recursive path of templates',
    { templates: ['spec..template'] },
    'templates[0]',
    'must consist of names and [*], because annotations are written there',
  ],
  [
    'a path of metadata with a suffix',
    { podMetadata: ['spec.*Metadata'] },
    'podMetadata[0]',
    'must consist of names and [*], because annotations are written there',
  ],
  ['a path for all pods with a list', { allPods: 'spec.parts[*]' }, 'allPods', 'must name one object, without [*]'],
  [
    'a path of containers',
    { containers: ['['] },
    'containers[0]',
    'must be a JSONPath, e.g. spec.tasks[*].template; not "["',
  ],
  [
    'a path of a reference',
    {
      references: [
        { kind: 'Secret', path: '' },
        { kind: 'Secret', path: '/' },
      ],
    },
    'references[1].path',
    'must be a JSONPath, e.g. spec.tasks[*].template; not "/"',
  ],
  ['a namespace', { namespace: 'a b' }, 'namespace', 'must be a JSONPath, e.g. spec.tasks[*].template; not " b"'],
  [
    'two ways to pass an annotation on',
    { allPods: 'spec.meta', inherits: true },
    'allPods',
    'must not be set with inherits; choose one',
  ],
])('%s is invalid', (_name, wrong, at, message) => {
  expect(validateWorkloadKinds([{ ...gadget, ...wrong }])).toEqual([
    { path: `workloadKinds[0].${at}`, code: 'Invalid', message: expect.stringMatching(/^Invalid value: ".*": /s) },
  ])
  expect(validateWorkloadKinds([{ ...gadget, ...wrong }])[0]?.message).toContain(message)
})

test('a kind has one entry', () => {
  const older = { ...gadget, versions: ['v1beta1'] }
  expect(validateWorkloadKinds([gadget, older])).toEqual([
    {
      path: 'workloadKinds[1].kind',
      code: 'Invalid',
      message: 'Invalid value: "Gadget": must have one entry; join both',
    },
  ])
})

test('recursive paths are valid where values are only read', () => {
  const entry = {
    ...gadget,
    podSpecs: ['spec..*'],
    references: [{ kind: 'Secret' as const, path: 'spec..*Secret.name' }],
  }
  expect(validateWorkloadKinds([entry])).toEqual([])
})
