/** Lists the configured data systems with the problems of their configurations, without a connection to them. */
import { basename } from 'node:path'
import { describeErrors } from '../../base/field-errors.ts'
import { plugins } from '../plugins/index.ts'
import { duplicateSystem, parseSystemConfig, type SystemConfig } from './config.ts'
import { type ConfigFile, type ConfigSource, ConfigSourceError } from './source.ts'
import { SystemConfigError } from './system-config-error.ts'

export interface InspectedSystem {
  /** The name of the system; for an invalid configuration the name of its file, which is usually the same. */
  system: string
  problem?: string
  /** Whether this is the source itself, so that the systems of the configuration are not known. */
  isSource?: true
  /** Present if the configuration is valid. */
  config?: Pick<SystemConfig, 'locationMapping' | 'locationMatching' | 'warnings'>
}

/** Lists the systems of a source. A source that cannot be read counts as one invalid system. */
export async function inspectSystems(source: ConfigSource): Promise<InspectedSystem[]> {
  const files = new Map<string, string>()
  try {
    return (await source.read()).map((file) => inspect(file, files))
  } catch (error) {
    if (!(error instanceof ConfigSourceError)) throw error
    return [{ system: basename(source.name), problem: `${source.name}: ${error.message}`, isSource: true }]
  }
}

/** @param files the file of each system before this one */
function inspect(given: ConfigFile, files: Map<string, string>): InspectedSystem {
  const { file } = given
  const named = basename(file).replace(/\.(?:ya?ml|json)$/i, '')
  if ('problem' in given) return { system: named, problem: `${file}: ${given.problem}` }
  try {
    const config = parseSystemConfig(file, given.text, plugins, given.folder)
    const { system } = config
    const other = files.get(system)
    if (other !== undefined)
      return { system: named, problem: `${file}: ${describeErrors([duplicateSystem(system, other)])}` }
    files.set(system, file)
    return { system, config }
  } catch (error) {
    if (!(error instanceof SystemConfigError)) throw error
    return { system: named, problem: error.message }
  }
}
