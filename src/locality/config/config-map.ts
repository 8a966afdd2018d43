/** The configurations of data systems in a ConfigMap: one key per system, as volcano-global has them. */
import type { K8sObject } from '../../api/meta.ts'
import { type ConfigFile, type ConfigSource, ConfigSourceError } from './source.ts'

export interface ConfigMap extends K8sObject {
  data?: Record<string, string>
}

/**
 * Returns the keys of a ConfigMap. Names of files in them are relative to the working directory, because a ConfigMap has no folder.
 *
 * @param read returns the ConfigMap, or undefined if it does not exist
 */
export function configMapSource(
  { namespace, name }: { namespace: string; name: string },
  read: () => Promise<ConfigMap | undefined>,
): ConfigSource {
  return {
    name: `ConfigMap ${namespace}/${name}`,
    async read() {
      const found = await read().catch((cause: Error) => {
        throw new ConfigSourceError(`cannot be read (${cause.message})`, { cause })
      })
      // A deleted ConfigMap is not an empty one: its systems stay in use, as those of a missing folder.
      if (found === undefined) throw new ConfigSourceError('does not exist; create it')
      return Object.entries(found.data ?? {})
        .map(([key, text]): ConfigFile => ({ file: `ConfigMap ${namespace}/${name}/${key}`, text }))
        .sort((a, b) => (a.file < b.file ? -1 : 1))
    },
  }
}
