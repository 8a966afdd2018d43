/** The section `systems` of the configuration: where the configurations of data systems are, and the right to read them. */
import { configMaps } from '../../api/dependencies.ts'
import type { K8sObject } from '../../api/meta.ts'
import { bindRole, role } from '../../api/rbac.ts'
import type { FieldError } from '../../base/field-errors.ts'
import type { ConfigSource } from '../../locality/config/source.ts'
import { type ConfigMap, configMapSource, folderSource } from '../../locality/config/source.ts'
import type { ObjectStore } from '../../store/store.ts'
import { LODESTONE } from '../roles/rbac.ts'
import { labelName, objectName, optional, section, text } from './section.ts'

export const systemsSection = section({
  directory: optional<string>(
    text,
    'One file per [data system](../guides/data-systems.md). Default: the variable `PLUGIN_CONFIG_PATH`, as in volcano-global.',
  ),
  configMap: optional<{ namespace: string; name: string }>(
    {
      type: 'object',
      required: ['namespace', 'name'],
      properties: { namespace: labelName, name: objectName },
    },
    'Instead of a folder: `namespace` and `name` of a ConfigMap, see below.',
  ),
})

export type SystemsConfig = typeof systemsSection.default

/** Returns the errors that the schema of the section cannot express. */
export function systemsErrors({ directory, configMap }: SystemsConfig): FieldError[] {
  if (directory === undefined || configMap === undefined) return []
  return [
    { path: 'systems.configMap', code: 'Forbidden', message: 'must not be given together with systems.directory' },
  ]
}

/**
 * Completes the section with `PLUGIN_CONFIG_PATH`, the folder of volcano-global, if it names no place itself.
 *
 * @param env the environment of the process
 */
export function withPluginPath(systems: SystemsConfig, env: Record<string, string | undefined>): SystemsConfig {
  const directory = env['PLUGIN_CONFIG_PATH']
  return directory && systems.directory === undefined && systems.configMap === undefined ? { directory } : systems
}

/** Returns the source of the configurations; undefined if none is configured. */
export function systemsSource({ directory, configMap }: SystemsConfig, store: ObjectStore): ConfigSource | undefined {
  if (directory !== undefined) return folderSource(directory)
  if (configMap === undefined) return undefined
  const { namespace, name } = configMap
  return configMapSource(configMap, () => store.read(configMaps, namespace, name) as Promise<ConfigMap | undefined>)
}

/** Returns the Role to read the ConfigMap, and nothing else, with its binding. */
export function systemsRoles({ configMap }: SystemsConfig): K8sObject[] {
  if (configMap === undefined) return []
  const metadata = { name: 'lodestone-systems', namespace: configMap.namespace }
  const rules = [
    { apiGroups: [configMaps.group], resources: [configMaps.plural], resourceNames: [configMap.name], verbs: ['get'] },
  ]
  return [role(metadata, rules), bindRole(metadata, LODESTONE)]
}
