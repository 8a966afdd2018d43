import { describe, expect, test } from 'vitest'
import { makeVolume } from '../../../../test/builders.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import { MOVER_RULES } from './mover-rules.ts'
import { DEFAULT_VOLUME_LIMITS, type MoverLimits } from './settings.ts'

const NAMESPACE = { namespace: 'movers' }
const LIMITS: Partial<MoverLimits> = {
  ...NAMESPACE,
  allowedPriorityClassNames: ['batch', 'low-*'],
  allowedTolerationKeys: ['dedicated', 'example.com/*'],
  maxResources: { cpu: '2', memory: '2Gi' },
}

function problemsOf(config: Partial<VolumeConfig>, movers: Partial<MoverLimits>) {
  const limits = { ...DEFAULT_VOLUME_LIMITS, movers: { ...DEFAULT_VOLUME_LIMITS.movers, ...movers } }
  return MOVER_RULES.flatMap((rule) => rule(makeVolume(config), limits) ?? [])
}

const withClass = (priorityClassName: string) => ({ mover: { priorityClassName } })
const withResources = (limits?: Record<string, string>, requests?: Record<string, string>) => ({
  mover: { resources: { ...(limits && { limits }), ...(requests && { requests }) } },
})
const tolerating = (...keys: (string | undefined)[]) => ({
  tolerations: keys.map((key) => ({ operator: 'Exists' as const, ...(key !== undefined && { key }) })),
})
const MOST = { cpu: '2', memory: '2Gi' }

describe('movers in the namespace of their VolumeManager', () => {
  test('may have any priority class, resources and tolerations, as its users may', () => {
    const config = {
      ...tolerating(undefined),
      mover: { ...withClass('system-node-critical').mover, ...withResources({ cpu: '64' }).mover },
    }
    expect(problemsOf(config, {})).toEqual([])
  })
})

describe('the ServiceAccount of movers', () => {
  const withAccount = (serviceAccountName: string, more: Partial<VolumeConfig> = {}) => ({
    ...more,
    mover: { serviceAccountName },
  })

  test('is any of the own namespace', () => {
    expect(problemsOf(withAccount('reader'), {})).toEqual([])
  })

  test.each<{ name: string; config: Partial<VolumeConfig>; limits?: Partial<MoverLimits>; code: string; want: string }>(
    [
      {
        name: 'of another namespace by its name',
        config: withAccount('other/reader'),
        limits: {},
        code: 'Invalid',
        want: 'has to be the name of a ServiceAccount',
      },
      {
        name: 'of a type without roles',
        config: withAccount('reader', { sourceType: 'AzureBlob' }),
        limits: {},
        code: 'Forbidden',
        want: 'cannot be set for AzureBlob',
      },
      {
        name: 'of the namespace of all movers, by default',
        config: withAccount('reader'),
        limits: NAMESPACE,
        code: 'Forbidden',
        want: 'add it to volumes.movers.allowedServiceAccountNames',
      },
    ],
  )('is not one $name', ({ config, limits = {}, code, want }) => {
    const field = 'mover.serviceAccountName'
    expect(problemsOf(config, limits)).toMatchObject([{ field, code, message: expect.stringContaining(want) }])
  })

  test('is one of the namespace of all movers that the configuration allows', () => {
    expect(problemsOf(withAccount('reader'), { ...NAMESPACE, allowedServiceAccountNames: ['read*'] })).toEqual([])
  })
})

describe('movers in one namespace for all', () => {
  test.each<{ name: string; config: Partial<VolumeConfig>; limits?: Partial<MoverLimits> }>([
    { name: 'without any choice', config: {}, limits: NAMESPACE },
    { name: 'of an allowed priority class', config: withClass('batch') },
    { name: 'of a priority class with an allowed prefix', config: withClass('low-1') },
    { name: 'that tolerate allowed keys', config: tolerating('dedicated', 'example.com/gpu') },
    { name: 'that tolerate all taints, if every key is allowed', config: tolerating(''), limits: allKeys('*') },
    { name: 'with the largest resources', config: withResources(MOST, { cpu: '2000m', memory: '2048Mi' }) },
    { name: 'with smaller resources', config: withResources({ cpu: '0.3', memory: '5e8' }, { cpu: '100m' }) },
    {
      name: 'with a limit that is written in another unit',
      config: withResources({ cpu: '0.3' }),
      limits: { ...NAMESPACE, maxResources: { cpu: '300m' } },
    },
  ])('are allowed $name', ({ config, limits = LIMITS }) => {
    expect(problemsOf(config, limits)).toEqual([])
  })

  test.each<{
    name: string
    config: Partial<VolumeConfig>
    limits?: Partial<MoverLimits>
    field: string
    code: string
    want: string
  }>([
    {
      name: 'a priority class, by default',
      config: withClass('batch'),
      limits: NAMESPACE,
      field: 'mover.priorityClassName',
      code: 'Forbidden',
      want: 'add it to volumes.movers.allowedPriorityClassNames',
    },
    {
      name: 'another priority class',
      config: withClass('system-node-critical'),
      field: 'mover.priorityClassName',
      code: 'Forbidden',
      want: '"system-node-critical" is not allowed for movers in the namespace movers',
    },
    {
      name: 'no priority class instead of that of the configuration',
      config: withClass(''),
      field: 'mover.priorityClassName',
      code: 'Forbidden',
      want: '"" is not allowed',
    },
    {
      name: 'a toleration, by default',
      config: tolerating('dedicated'),
      limits: NAMESPACE,
      field: 'tolerations[0].key',
      code: 'Forbidden',
      want: 'add the key to volumes.movers.allowedTolerationKeys',
    },
    {
      name: 'a toleration of another key',
      config: tolerating('dedicated', 'node-role.kubernetes.io/control-plane'),
      field: 'tolerations[1].key',
      code: 'Forbidden',
      want: '"node-role.kubernetes.io/control-plane"',
    },
    {
      name: 'a toleration of all taints',
      config: tolerating(undefined),
      field: 'tolerations[0].key',
      code: 'Forbidden',
      want: 'every key',
    },
    {
      name: 'resources, by default',
      config: withResources({ memory: '1Mi' }),
      limits: NAMESPACE,
      field: 'mover.resources',
      code: 'Forbidden',
      want: 'set volumes.movers.maxResources',
    },
    {
      name: 'empty resources, by default: they would replace those of the configuration',
      config: withResources(),
      limits: NAMESPACE,
      field: 'mover.resources',
      code: 'Forbidden',
      want: 'not allowed',
    },
    {
      name: 'resources without a limit',
      config: withResources({ cpu: '1' }, { memory: '1Gi' }),
      field: 'mover.resources.limits[memory]',
      code: 'Required',
      want: 'has to be set, to at most 2Gi',
    },
    {
      name: 'a larger limit',
      config: withResources({ ...MOST, memory: '2049Mi' }),
      field: 'mover.resources.limits[memory]',
      code: 'Invalid',
      want: 'at most 2Gi',
    },
    {
      name: 'a request that is larger by less than one',
      config: withResources(MOST, { cpu: '2001m' }),
      field: 'mover.resources.requests[cpu]',
      code: 'Invalid',
      want: 'at most 2',
    },
    ...['lots', '-1', '', '0e999', '1e999'].map((cpu) => ({
      name: `the amount "${cpu}"`,
      config: withResources({ ...MOST, cpu }),
      field: 'mover.resources.limits[cpu]',
      code: 'Invalid',
      want: 'at most',
    })),
    ...['nvidia.com/gpu', 'constructor'].map((resource) => ({
      name: `the resource ${resource}`,
      config: withResources({ ...MOST, [resource]: '1' }),
      field: `mover.resources.limits[${resource}]`,
      code: 'Forbidden',
      want: 'add it to volumes.movers.maxResources',
    })),
  ])('cannot have $name', ({ config, limits = LIMITS, field, code, want }) => {
    expect(problemsOf(config, limits)).toMatchObject([{ field, code, message: expect.stringContaining(want) }])
  })
})

function allKeys(key: string): Partial<MoverLimits> {
  return { ...NAMESPACE, allowedTolerationKeys: [key] }
}
