/** Restarts the server with a heap limit that is derived from the memory limit of its container. */
import { totalmem } from 'node:os'
import { parseBytes } from '../../base/quantity.ts'
import { oldSpaceMib, SEMI_SPACE_MIB } from './memory.ts'

/** A memory limit such as `512Mi`, which overrides that of the control group. */
const LIMIT_VARIABLE = 'LODESTONE_MEMORY_LIMIT'

/**
 * Settings of glibc: freed large buffers are returned to the system, and threads share two arenas. With the defaults, large bodies fragment
 * the C heap, which stays 50 MiB larger (mallopt(3)).
 */
const ALLOCATOR = { MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '131072', MALLOC_ARENA_MAX: '2' }

/** The memory limit of the process in bytes; undefined without one. Node reads the control group (version 1 or 2). */
export function containerBytes(env: NodeJS.ProcessEnv): number | undefined {
  const given = env[LIMIT_VARIABLE]
  if (given !== undefined) {
    const bytes = parseBytes(given)
    if (bytes === undefined) throw new Error(`${LIMIT_VARIABLE}: Invalid value: ${given}; write bytes, as 512Mi`)
    return bytes
  }
  const limit = process.constrainedMemory()
  return limit > 0 && limit < totalmem() ? limit : undefined
}

/**
 * Replaces this process by one with a heap limit, which V8 reads at the start only. Does nothing without a memory limit, or if the heap
 * limit is set. The process id stays.
 */
export function limitHeap(): void {
  const bytes = containerBytes(process.env)
  const given = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ')
  if (bytes === undefined || /--max[-_]old[-_]space[-_]size/.test(given)) return
  const flags = [`--max-old-space-size=${oldSpaceMib(bytes)}`, `--max-semi-space-size=${SEMI_SPACE_MIB}`]
  process.execve?.(process.execPath, [process.execPath, ...process.execArgv, ...flags, ...process.argv.slice(1)], {
    ...ALLOCATOR,
    ...process.env,
  })
}
