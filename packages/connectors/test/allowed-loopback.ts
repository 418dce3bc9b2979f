import { outgoingAllowed } from '@sluice/http-client'

/** Stand-ins on this machine may be asked, by http as well. */
export const allowedLoopback = outgoingAllowed().parse('127.0.0.1')
