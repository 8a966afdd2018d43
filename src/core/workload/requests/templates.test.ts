import { describe, expect, test } from 'vitest'
import type { K8sObject } from '../../../api/meta.ts'
import { podPlacesOf, withValueAt } from './templates.ts'

const template = { spec: { containers: [{ name: 'main' }] } }
const object = (spec: unknown) => ({ apiVersion: 'v1', kind: 'K', metadata: { name: 'k' }, spec })

describe('the places of pod metadata in a workload', () => {
  test.each<[string, unknown, Parameters<typeof podPlacesOf>[1], string[]]>([
    ['of a template', { template }, { templates: ['spec.template'] }, ['spec.template.metadata']],
    [
      'in a list',
      { tasks: [{ template }, {}, { template }] },
      { templates: ['spec.tasks[*].template'] },
      ['spec.tasks[0].template.metadata', 'spec.tasks[2].template.metadata'],
    ],
    [
      'in a map',
      { replicas: { Worker: { template } } },
      { templates: ['spec.replicas.*.template'] },
      ['spec.replicas.Worker.template.metadata'],
    ],
    [
      'at several paths',
      { template, head: { template } },
      { templates: ['spec.template', 'spec.head.template', 'spec.x'] },
      ['spec.template.metadata', 'spec.head.template.metadata'],
    ],
    [
      'are absent if the path does not exist',
      { template: 'x', tasks: 'y' },
      { templates: ['spec.template.x', 'spec.tasks[*].template'] },
      [],
    ],
    [
      'of a template without containers',
      { template: { spec: {} } },
      { templates: ['spec.template'] },
      ['spec.template.metadata'],
    ],
    [
      'are absent with containers of another shape',
      { template: { spec: { containers: 'x' } } },
      { templates: ['spec.template'] },
      [],
    ],
    [
      'are absent with metadata of another shape',
      { template: { ...template, metadata: 'x' } },
      { templates: ['spec.template'] },
      [],
    ],
    [
      'are absent with labels of another shape',
      { template: { ...template, metadata: { labels: [] } } },
      { templates: ['spec.template'] },
      [],
    ],
    [
      'of a template with empty members, as Helm writes them',
      {
        template: {
          metadata: { labels: null, annotations: null },
          spec: { ...template.spec, volumes: null, affinity: { nodeAffinity: null } },
        },
      },
      { templates: ['spec.template'] },
      ['spec.template.metadata'],
    ],
    [
      'of a template with empty metadata and an empty spec',
      { template: { metadata: null, spec: null } },
      { templates: ['spec.template'] },
      ['spec.template.metadata'],
    ],
    [
      'without a template',
      { driver: {}, executor: 'x' },
      { podMetadata: ['spec.driver', 'spec.executor'] },
      ['spec.driver'],
    ],
    ['for all pods, also if it is absent', {}, { allPods: 'spec.podMetadata' }, ['spec.podMetadata']],
    [
      'are absent if the object for all pods has another shape',
      { podMetadata: [] },
      { allPods: 'spec.podMetadata' },
      [],
    ],
    [
      'for all pods in a template, once',
      { podTemplate: template },
      { templates: ['spec.podTemplate'], allPods: 'spec.podTemplate.metadata' },
      ['spec.podTemplate.metadata'],
    ],
  ])('%s', (_name, spec, kind, want) => {
    expect(podPlacesOf(object(spec), kind).map(({ path }) => path)).toEqual(want)
  })

  test('have the pod spec of their template, unless it has only a part of one', () => {
    const places = podPlacesOf(object({ tasks: [{ template }, { template: { spec: {} } }] }), {
      templates: ['spec.tasks[*].template'],
    })
    expect(places.map(({ pod }) => pod)).toEqual([
      { path: 'spec.tasks[0].template.spec', keys: ['spec', 'tasks', 0, 'template', 'spec'], spec: template.spec },
      undefined,
    ])
  })
})

test('the pod spec of a template has no member that is null', () => {
  const spec = { ...template.spec, volumes: null }
  const [place] = podPlacesOf(object({ template: { metadata: null, spec } }), { templates: ['spec.template'] })
  expect(place).toMatchObject({ metadata: {}, pod: { spec: template.spec } })
  expect(place?.pod?.spec).not.toHaveProperty('volumes')
})

test('a value is written back at its path, and all unchanged parts are shared', () => {
  const whole = object({ tasks: [{ template }, { template }], other: {} })
  const changed = withValueAt(whole, ['spec', 'tasks', 1, 'template'], 'new') as K8sObject & {
    spec: { tasks: unknown[]; other: unknown }
  }
  const before = whole as typeof changed
  expect(changed.spec.tasks).toEqual([{ template }, { template: 'new' }])
  expect(changed.spec.tasks[0]).toBe(before.spec.tasks[0])
  expect(changed.spec.other).toBe(before.spec.other)
})

test('a value is written where an object is absent', () => {
  expect(withValueAt(object({}), ['spec', 'podMetadata', 'labels'], { a: 'b' })).toMatchObject({
    spec: { podMetadata: { labels: { a: 'b' } } },
  })
})
