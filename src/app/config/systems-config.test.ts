/** Tests the section `systems` of the configuration. */
import { expect, test } from 'vitest'
import { storeOf } from '../../../test/stores.ts'
import type { K8sObject } from '../../api/meta.ts'
import { completeConfig } from './config.ts'
import { type SystemsConfig, systemsRoles, systemsSource, withPluginPath } from './systems-config.ts'

const configMap = { namespace: 'data', name: 'plugins' }

test.each<{ name: string; systems: SystemsConfig; path: string | undefined; want: SystemsConfig }>([
  { name: 'is used if no place is configured', systems: {}, path: '/plugins', want: { directory: '/plugins' } },
  { name: 'does not replace a folder', systems: { directory: '/own' }, path: '/plugins', want: { directory: '/own' } },
  { name: 'does not replace a ConfigMap', systems: { configMap }, path: '/plugins', want: { configMap } },
  { name: 'is ignored if it is empty', systems: {}, path: '', want: {} },
  { name: 'may be absent', systems: {}, path: undefined, want: {} },
])('PLUGIN_CONFIG_PATH $name', ({ systems, path, want }) => {
  expect(withPluginPath(systems, { PLUGIN_CONFIG_PATH: path })).toEqual(want)
})

test.each([
  {
    systems: { directory: '/a', configMap },
    want: 'systems.configMap: must not be given together with systems.directory',
  },
  { systems: { configMap: { name: 'a' } }, want: 'systems.configMap.namespace: is required' },
])('rejects $systems', ({ systems, want }) => {
  expect(() => completeConfig({ systems }, 'lodestone.yaml')).toThrow(`lodestone.yaml: ${want}`)
})

test('the ConfigMap is read from the store', async () => {
  const data = { static: 'system: static' }
  const store = await storeOf([{ apiVersion: 'v1', kind: 'ConfigMap', metadata: configMap, data } as K8sObject])

  expect(await systemsSource({ configMap }, store)?.read()).toEqual([
    { file: 'ConfigMap data/plugins/static', text: 'system: static', folder: '.' },
  ])
  expect(systemsSource({}, store)).toBeUndefined()
})

test('the Role allows to read this ConfigMap only', () => {
  const [role, binding] = systemsRoles({ configMap })
  const metadata = { name: 'lodestone-systems', namespace: 'data' }
  expect(role).toMatchObject({
    kind: 'Role',
    metadata,
    rules: [{ apiGroups: [''], resources: ['configmaps'], resourceNames: ['plugins'], verbs: ['get'] }],
  })
  expect(binding).toMatchObject({
    kind: 'RoleBinding',
    metadata,
    roleRef: { kind: 'Role', name: 'lodestone-systems' },
    subjects: [{ kind: 'ServiceAccount', name: 'lodestone', namespace: 'lodestone-system' }],
  })
  expect(systemsRoles({ directory: '/plugins' })).toEqual([])
})
