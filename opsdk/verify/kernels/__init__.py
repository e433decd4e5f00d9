"""Every kernel of an op beside its reference: values, form, layouts, memory."""
