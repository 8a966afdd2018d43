/** Runs `status` on a folder with these objects. */
import { makeFolder, runWords } from '../cli.fake.ts'

export const status = (objects: unknown[], ...more: string[]) =>
  runWords(['status', '--folder', makeFolder({ 'hub.yaml': objects }), ...more])

/** An hour of the day on which commands run in tests, at 12:00. */
export const at = (hour: number) => `2026-11-20T0${hour}:00:00Z`
