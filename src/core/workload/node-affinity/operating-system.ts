/** Finds pods that run on Windows. Movers run on Linux, so no Windows node has the data of a volume. */
import type { PodSpec } from '../../../api/pod.ts'
import type { FieldError } from '../../../base/field-errors.ts'
import { OS_LABEL } from '../../volume-manager/nodes/feasibility.ts'

const WINDOWS = 'windows'

/**
 * Returns an error for a pod spec that requests volumes and is for Windows nodes, by `os` or by its node selector.
 *
 * @param at the path of the pod spec in the object
 */
export function operatingSystemErrors({ os, nodeSelector }: PodSpec, at = 'spec'): FieldError[] {
  const selected = [
    { path: `${at}.os.name`, value: os?.name },
    { path: `${at}.nodeSelector[${OS_LABEL}]`, value: nodeSelector?.[OS_LABEL] },
  ]
  return selected
    .filter(({ value }) => value === WINDOWS)
    .map(({ path }) => ({
      path,
      code: 'NotSupported',
      message: `Unsupported value: "${WINDOWS}": volumes are on Linux nodes only; run the pod on ${OS_LABEL}: linux, or do not request volumes and read the data from its source`,
    }))
}
