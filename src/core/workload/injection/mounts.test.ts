import { describe, expect, test } from 'vitest'
import type { Container } from '../../../api/pod.ts'
import { mountVolumes, unknownContainers, type WantedMount } from './mounts.ts'

const wanted = (request: Partial<WantedMount['request']> = {}, rest: Partial<WantedMount> = {}): WantedMount => ({
  path: 'at[0]',
  request: { name: 'sales', ...request },
  volume: 'sales--vol1',
  readOnly: false,
  ...rest,
})
const main: Container = { name: 'main' }
const mount = (container: Container, ...mounts: WantedMount[]) =>
  mountVolumes({ containers: [container] }, mounts, 'spec')
const mounted = (...volumeMounts: Container['volumeMounts'] & object) => ({
  containers: { containers: [{ name: 'main', volumeMounts }] },
})

describe('a container gets a mount', () => {
  test.each<{ name: string; request: Partial<WantedMount['request']>; mountPath: string }>([
    { name: 'at /var/datasets by default', request: {}, mountPath: '/var/datasets' },
    { name: 'at the path of the request', request: { 'mount-path': '/data' }, mountPath: '/data' },
    {
      name: 'at its own path',
      request: { 'mount-path': '/data', containers: [{ name: 'main', 'mount-path': '/own' }] },
      mountPath: '/own',
    },
    {
      name: 'at the path of the request, if it has no own path',
      request: { 'mount-path': '/data', containers: [{ name: 'main' }] },
      mountPath: '/data',
    },
  ])('$name', ({ request, mountPath }) => {
    expect(mount(main, wanted(request))).toEqual(mounted({ name: 'sales--vol1', mountPath }))
  })

  test('that is read-only', () => {
    expect(mount(main, wanted({}, { readOnly: true }))).toEqual(
      mounted({ name: 'sales--vol1', mountPath: '/var/datasets', readOnly: true }),
    )
  })

  test('in containers and init containers', () => {
    const spec = { containers: [main], initContainers: [{ name: 'init' }] }
    const result = mountVolumes(spec, [wanted()], 'spec')
    const volumeMounts = [{ name: 'sales--vol1', mountPath: '/var/datasets' }]
    expect(result).toEqual({
      containers: { containers: [{ ...main, volumeMounts }], initContainers: [{ name: 'init', volumeMounts }] },
    })
  })
})

describe('a container stays as it is', () => {
  const own = (mountPath: string): Container => ({ name: 'main', volumeMounts: [{ name: 'sales--vol1', mountPath }] })
  test.each<{ name: string; container: Container; request?: Partial<WantedMount['request']> }>([
    { name: 'that the request does not name', container: main, request: { containers: [{ name: 'side' }] } },
    { name: 'that has the volume at the path', container: own('/data'), request: { 'mount-path': '/data' } },
    {
      name: 'that has the volume at the same path with other slashes',
      container: own('//data/'),
      request: { 'mount-path': '/data' },
    },
    {
      name: 'that has the volume at the same path with dots',
      container: own('/tmp/.././data/.'),
      request: { 'mount-path': '/data' },
    },
    { name: 'that has the volume at any path, if the request has no path', container: own('/elsewhere') },
  ])('$name', ({ container, request = {} }) => {
    const result = mountVolumes({ containers: [container, { name: 'side' }] }, [wanted(request)], 'spec')
    expect('containers' in result && result.containers.containers[0]).toBe(container)
  })
})

describe('an occupied path is an error', () => {
  test('at the mount of the container', () => {
    const container = { name: 'main', volumeMounts: [{ name: 'cache', mountPath: '/data' }] }
    expect(mount(container, wanted({ 'mount-path': '/data/' }))).toEqual({
      errors: [
        {
          path: 'spec.containers[0].volumeMounts[0].mountPath',
          code: 'Duplicate',
          message: 'container main has volume cache at /data/ already; give at[0] another mount-path',
        },
      ],
    })
  })

  test('at the second request, if another request uses the path', () => {
    const other = wanted({}, { path: 'at[1]', volume: 'other' })
    expect(mount(main, wanted(), other)).toEqual({
      errors: [
        {
          path: 'at[1]',
          code: 'Duplicate',
          message: 'container main has volume sales--vol1 at /var/datasets already; give it another mount-path',
        },
      ],
    })
  })
})

test('a request that names an unknown container is an error that lists the containers', () => {
  const containers = [main, { name: 'side' }]
  const requests = [wanted({ containers: [{ name: 'side' }, { name: 'sdie' }] })]
  expect(unknownContainers(containers, requests)).toEqual([
    {
      path: 'at[0].containers[1].name',
      code: 'NotSupported',
      message: expect.stringMatching(/^there is no container sdie; the pod has .*main.*side/),
    },
  ])
  expect(mountVolumes({ containers }, requests, 'spec')).toHaveProperty('errors.length', 1)
})

describe('an API server rejects a mount beside a block device, so it is an error', () => {
  const device = (name: string, devicePath: string): Container => ({
    name: 'main',
    volumeDevices: [
      { name: 'other', devicePath: '/dev/other' },
      { name, devicePath },
    ],
  })
  test.each([
    {
      name: 'at the path of the mount',
      container: device('raw', '/data'),
      request: { 'mount-path': '/data' },
      path: 'spec.containers[0].volumeDevices[1].devicePath',
      message: 'container main has a block device at /data already; give at[0] another mount-path',
    },
    {
      name: 'at the path of the mount with other slashes',
      container: device('raw', '/data/'),
      request: { 'mount-path': '//data' },
      path: 'spec.containers[0].volumeDevices[1].devicePath',
      message: 'container main has a block device at //data already; give at[0] another mount-path',
    },
    {
      name: 'at the path of the mount with dots',
      container: device('raw', '/dev/../data'),
      request: { 'mount-path': '/data' },
      path: 'spec.containers[0].volumeDevices[1].devicePath',
      message: 'container main has a block device at /data already; give at[0] another mount-path',
    },
    {
      name: 'at the default path',
      container: device('raw', '/var/datasets'),
      request: {},
      path: 'spec.containers[0].volumeDevices[1].devicePath',
      message: 'container main has a block device at /var/datasets already; give at[0] another mount-path',
    },
    {
      name: 'of the same volume',
      container: device('sales--vol1', '/dev/sales'),
      request: { 'mount-path': '/data' },
      path: 'spec.containers[0].volumeDevices[1].name',
      message:
        'container main has volume sales--vol1 as a block device; remove the device, or list the other containers in at[0].containers',
    },
  ])('$name', ({ container, request, path, message }) => {
    expect(mount(container, wanted(request))).toEqual({ errors: [{ path, code: 'Duplicate', message }] })
  })

  test('the devices are read once, however many mounts are requested', () => {
    let reads = 0
    const volumeDevices = Array.from({ length: 10 }, (_, index) => ({
      name: `raw-${index}`,
      get devicePath() {
        reads++
        return `/dev/raw-${index}`
      },
    }))
    const requests = Array.from({ length: 64 }, (_, index) => wanted({ 'mount-path': `/data/${index}` }))
    expect(mount({ name: 'main', volumeDevices }, ...requests)).not.toHaveProperty('errors')
    expect(reads).toBe(10)
  })

  test('a mount at another path is added', () => {
    const container = device('raw', '/data')
    const volumeMounts = [{ name: 'sales--vol1', mountPath: '/data/below' }]
    expect(mount(container, wanted({ 'mount-path': '/data/below' }))).toEqual({
      containers: { containers: [{ ...container, volumeMounts }] },
    })
  })
})
