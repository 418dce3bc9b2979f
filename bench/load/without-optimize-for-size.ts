import { syncBuiltinESMExports } from 'node:module'
import v8 from 'node:v8'

/** Preloaded into a worker by the measure `growth`: the worker then runs without `--optimize-for-size`, which it sets itself. */
const { setFlagsFromString } = v8
v8.setFlagsFromString = (flag) => {
  if (flag !== '--optimize-for-size') setFlagsFromString(flag)
}
syncBuiltinESMExports()
