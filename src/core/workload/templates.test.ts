import { describe, expect, test } from 'vitest'
import type { K8sObject } from '../../api/meta.ts'
import { templatesOf, withValueAt } from './templates.ts'

const template = { spec: { containers: [{ name: 'main' }] } }
const object = (spec: unknown): K8sObject => ({ apiVersion: 'v1', kind: 'K', metadata: { name: 'k' }, ...{ spec } })

describe('the pod templates of a workload', () => {
  test.each<[string, unknown, string[], string[]]>([
    ['at a path', { template }, ['spec.template'], ['spec.template']],
    [
      'in a list',
      { tasks: [{ template }, {}, { template }] },
      ['spec.tasks.*.template'],
      ['spec.tasks[0].template', 'spec.tasks[2].template'],
    ],
    [
      'in a map',
      { replicas: { Worker: { template } } },
      ['spec.replicas.*.template'],
      ['spec.replicas.Worker.template'],
    ],
    [
      'at several paths',
      { template, head: { template } },
      ['spec.template', 'spec.head.template', 'spec.x'],
      ['spec.template', 'spec.head.template'],
    ],
    [
      'are absent if the path does not exist',
      { template: 'x', tasks: 'y' },
      ['spec.template.x', 'spec.tasks.*.template'],
      [],
    ],
    ['are absent without containers', { template: { spec: {} } }, ['spec.template'], []],
    ['are absent with metadata of another shape', { template: { ...template, metadata: 'x' } }, ['spec.template'], []],
  ])('%s', (_name, spec, paths, want) => {
    expect(templatesOf(object(spec), paths).map(({ path }) => path)).toEqual(want)
  })
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
  expect(before.spec.tasks[1]).toEqual({ template })
})
